/** Name, role, description, prompt and environment of an agent. Saving sends only what was changed. */
import { useState } from 'preact/hooks'
import { type Agent, type Environment, limits } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Field } from '../../parts/field.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { SaveOrUndo } from '../../parts/save-or-undo.tsx'
import { Section } from '../../parts/section.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { bytesOf, TextArea } from '../../parts/text-area.tsx'
import { note } from '../../parts/toast.tsx'
import { faultsOf } from '../../words/refusals.ts'
import {
  draftOf,
  EnvironmentChoice,
  type EnvironmentDraft,
  environmentOf,
} from '../agents/environment-choice.tsx'
import type { About } from './about.ts'

type Texts = Pick<Agent, 'name' | 'role_name' | 'description' | 'prompt_template'>

const fields = ['role_name', 'description', 'prompt_template'] as const

interface Draft {
  readonly texts: Texts
  readonly environment: EnvironmentDraft
  /** The agent as it was when the draft began. */
  readonly base: Agent
}

const draftFrom = (agent: Agent): Draft => {
  const { name, role_name, description, prompt_template, environment_id } = agent
  const texts = { name, role_name, description, prompt_template }
  return { texts, environment: draftOf(environment_id), base: agent }
}

const isSame = (one: Draft, other: Draft): boolean =>
  one.environment.id === other.environment.id && JSON.stringify(one.texts) === JSON.stringify(other.texts)

interface Props extends About {
  readonly environments: readonly Environment[]
  readonly refresh: () => Promise<void>
}

export function Profile({ project, agent, environments, refresh }: Props) {
  // Without a draft, the fields follow what the node has.
  const [draft, setDraft] = useState<Draft>()
  const [at, setAt] = useState<'environment' | 'agent'>('agent')
  const { texts, environment, base } = draft ?? draftFrom(agent)
  const isChanged = draft !== undefined
  const isOther = !isSame(draftFrom(agent), draftFrom(base))
  const edit = (change: Partial<Draft>) => {
    const to = { texts, environment, base, ...change }
    setDraft(isSame(to, draftFrom(base)) ? undefined : to)
  }
  const { isBusy, error, submit } = useSubmitting(async () => {
    setAt('environment')
    const environment_id = await environmentOf(project, environment)
    // If the node refuses the rest, a new environment is there already.
    const made = draftOf(environment_id)
    setDraft(
      (now) => now && { ...now, environment: now.environment === environment ? made : now.environment },
    )
    setAt('agent')
    const to = { ...base, ...texts, environment_id }
    await save(project, base, to)
    await refresh()
    // What was changed meanwhile is the next draft.
    setDraft((now) => {
      const isSaved = now === undefined || (now.texts === texts && now.environment.id === made.id)
      return isSaved ? undefined : { ...now, base: to }
    })
    note('Saved.', async () => {
      await save(project, to, base)
      await refresh()
    })
  })
  const faults = faultsOf(error)
  const set = (field: keyof Texts) => (text: string) => edit({ texts: { ...texts, [field]: text } })
  const isTooLong =
    bytesOf(texts.description) > limits.descriptionBytes ||
    bytesOf(texts.prompt_template) > limits.promptBytes
  return (
    <Section id="profile" title="Profile">
      <form onSubmit={submit}>
        <Field
          label="Name"
          required
          maxLength={limits.nameChars}
          value={texts.name}
          change={set('name')}
          fault={at === 'agent' ? faults.name : undefined}
        />
        <Field
          label="Role"
          maxLength={limits.nameChars}
          value={texts.role_name}
          change={set('role_name')}
          fault={faults.role_name}
        />
        <TextArea
          label="Description"
          value={texts.description}
          change={set('description')}
          maxBytes={limits.descriptionBytes}
          hint="Peers read it too"
          fault={faults.description}
        />
        <TextArea
          label="Introduction (prompt template)"
          value={texts.prompt_template}
          change={set('prompt_template')}
          maxBytes={limits.promptBytes}
          hint="Stands before its work instructions. Peers read it too"
          fault={faults.prompt_template}
        />
        <EnvironmentChoice
          environments={environments}
          draft={environment}
          change={(to) => edit({ environment: to })}
          fault={at === 'environment' ? faults.name : undefined}
        />
        {isOther && isChanged && (
          <p class="silence" role="status">
            Somebody else changed the profile meanwhile. Saving replaces only the fields that you changed.
          </p>
        )}
        {Object.keys(faults).length === 0 && <Refusal error={error} />}
        <SaveOrUndo
          isBusy={isBusy}
          isChanged={isChanged}
          isTooLong={isTooLong}
          undo={() => setDraft(undefined)}
        />
      </form>
    </Section>
  )
}

type Saved = Texts & Pick<Agent, 'environment_id'>

/** Sends what differs. A name is changed first, because it is what the node may refuse. */
async function save(project: string, from: Agent, to: Saved): Promise<void> {
  const name = to.name.trim()
  if (name !== from.name) await owner.agents.rename(project, from.id, name)
  const changed = fields.filter((field) => to[field] !== from[field])
  const texts = Object.fromEntries(changed.map((field) => [field, to[field]]))
  const place = to.environment_id === from.environment_id ? {} : { environment_id: to.environment_id }
  if (changed.length > 0 || to.environment_id !== from.environment_id)
    await owner.agents.change(project, from.id, { ...texts, ...place })
}
