/** Dialog that creates an agent. Its page then offers the prompt that enrols it. */
import { useState } from 'preact/hooks'
import { type Environment, limits } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActDialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { useOwnRoute } from '../../parts/own-route.ts'
import { TextArea } from '../../parts/text-area.tsx'
import { note } from '../../parts/toast.tsx'
import { plainName } from '../../text/plain-name.ts'
import { faultsOf } from '../../words/refusals.ts'
import { draftOf, EnvironmentChoice, environmentOf } from './environment-choice.tsx'

const fields = ['name', 'role_name', 'description', 'prompt_template']

interface Props {
  readonly project: string
  readonly environments: readonly Environment[]
  readonly close: () => void
}

export function CreateAgent({ project, environments, close }: Props) {
  const route = useOwnRoute()
  const [name, setName] = useState('')
  const [role, setRole] = useState('')
  const [description, setDescription] = useState('')
  const [prompt, setPrompt] = useState('')
  const [environment, setEnvironment] = useState(() => draftOf(null))
  const [at, setAt] = useState<'environment' | 'agent'>('agent')
  const act = async () => {
    setAt('environment')
    const id = await environmentOf(project, environment)
    // If the node refuses the agent, its new environment is there already.
    if (id !== null) setEnvironment(draftOf(id))
    setAt('agent')
    const { agent } = await owner.agents.create(project, {
      name: name.trim(),
      role_name: role.trim(),
      description,
      prompt_template: prompt,
      ...(id !== null && { environment_id: id }),
    })
    route(`/projects/${project}/agents/${agent.id}#enrolment`)
    note(`${plainName(agent.name)} was created. Give it its prompt.`)
  }
  return (
    <ActDialog
      title="New agent"
      verb="Create the agent"
      busy="Creating…"
      fields={fields}
      act={act}
      close={close}
    >
      {(error) => {
        const faults = faultsOf(error)
        return (
          <>
            <Field
              label="Name"
              required
              maxLength={limits.nameChars}
              value={name}
              change={setName}
              fault={at === 'agent' ? faults.name : undefined}
            />
            <Field
              label="Role"
              maxLength={limits.nameChars}
              value={role}
              change={setRole}
              hint="Such as reviewer. It may stay empty."
              fault={faults.role_name}
            />
            <TextArea
              label="Description"
              value={description}
              change={setDescription}
              maxBytes={limits.descriptionBytes}
              hint="Peers read it too"
              fault={faults.description}
            />
            <TextArea
              label="Introduction (prompt template)"
              value={prompt}
              change={setPrompt}
              maxBytes={limits.promptBytes}
              hint="Stands before its work instructions. Peers read it too"
              fault={faults.prompt_template}
            />
            <EnvironmentChoice
              environments={environments}
              draft={environment}
              change={setEnvironment}
              fault={at === 'environment' ? faults.name : undefined}
            />
          </>
        )
      }}
    </ActDialog>
  )
}
