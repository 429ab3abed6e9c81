/** Form for a new task. It keeps its key until it closes, so a second try creates no second task. */
import { useId, useState } from 'preact/hooks'
import { limits } from '../../../../../sdk/browser.ts'
import type { NamedAgent } from '../../live/agents.ts'
import { owner } from '../../owner.ts'
import { Choice } from '../../parts/choice.tsx'
import { ActDialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { TextArea } from '../../parts/text-area.tsx'
import { note } from '../../parts/toast.tsx'
import { plainName } from '../../text/plain-name.ts'
import { faultsOf } from '../../words/refusals.ts'

interface Props {
  readonly project: string
  /** Agents that can get a task. */
  readonly agents: readonly NamedAgent[]
  readonly created: () => void
}

export function CreateTask(props: Props) {
  const [isOpen, open] = useState(false)
  return (
    <>
      <button type="button" onClick={() => open(true)}>
        New task
      </button>
      {isOpen && <Form {...props} close={() => open(false)} />}
    </>
  )
}

const claimTimes = [
  ['300', '5 minutes'],
  ['900', '15 minutes'],
  ['1800', '30 minutes'],
  ['3600', '60 minutes'],
] as const

const attemptCounts = [
  ['1', '1'],
  ['2', '2'],
  ['3', '3'],
  ['5', '5'],
  ['10', '10'],
  ['20', '20'],
] as const

function Form({ project, agents, created, close }: Props & { readonly close: () => void }) {
  const [assignee, setAssignee] = useState(agents[0]?.id ?? '')
  const [title, setTitle] = useState('')
  const [instructions, setInstructions] = useState('')
  const [due, setDue] = useState('')
  const [claimTime, setClaimTime] = useState<(typeof claimTimes)[number][0]>('1800')
  const [attempts, setAttempts] = useState<(typeof attemptCounts)[number][0]>('3')
  const act = async (key: string) => {
    const input = {
      ...{ assignee_agent_id: assignee, title: title.trim(), instructions },
      ...(due === '' ? {} : { due_at: new Date(due).toISOString() }),
      ...{ claim_ttl_seconds: Number(claimTime), max_attempts: Number(attempts) },
    }
    await owner.tasks.create(project, input, { idempotencyKey: key })
    note('The task is created. Its agent gets a message about it.')
    created()
  }
  return (
    <ActDialog
      title="New task"
      verb="Create the task"
      busy="Creating…"
      fields={['title', 'instructions', 'due_at']}
      act={act}
      close={close}
    >
      {(error) => {
        const faults = faultsOf(error)
        return (
          <>
            <Choice
              label="Assignee"
              value={assignee}
              options={agents.map(({ id, name }) => [id, plainName(name)])}
              change={setAssignee}
            />
            <Field
              label="Title"
              required
              maxLength={limits.taskTitleChars}
              value={title}
              change={setTitle}
              fault={faults.title}
            />
            <TextArea
              label="Instructions"
              rows={6}
              maxBytes={limits.taskInstructionsBytes}
              value={instructions}
              change={setInstructions}
              fault={faults.instructions}
            />
            <DueTime value={due} change={setDue} fault={faults.due_at} />
            <Choice
              label="Time of a claim"
              value={claimTime}
              options={claimTimes}
              change={setClaimTime}
              hint="An agent that does not renew its claim in this time loses it."
            />
            <Choice label="Attempts" value={attempts} options={attemptCounts} change={setAttempts} />
          </>
        )
      }}
    </ActDialog>
  )
}

interface DueProps {
  readonly value: string
  readonly change: (value: string) => void
  readonly fault: string | undefined
}

function DueTime({ value, change, fault }: DueProps) {
  const id = useId()
  return (
    <p class="field">
      <label for={id}>Due</label>
      <input
        id={id}
        type="datetime-local"
        value={value}
        aria-describedby={`${id}-hint`}
        aria-invalid={fault !== undefined}
        onInput={({ currentTarget }) => change(currentTarget.value)}
      />
      <span id={`${id}-hint`} class={fault === undefined ? 'meta' : 'fault'}>
        {fault ?? 'May stay empty. The time of this browser.'}
      </span>
    </p>
  )
}
