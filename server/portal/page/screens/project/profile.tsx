/** Name, description and policy of a project. Saving sends only what was changed. */
import { useState } from 'preact/hooks'
import { limits, type Project, type ProjectPolicy } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Field } from '../../parts/field.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { SaveOrUndo } from '../../parts/save-or-undo.tsx'
import { Section } from '../../parts/section.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { bytesOf, TextArea } from '../../parts/text-area.tsx'
import { note } from '../../parts/toast.tsx'
import { faultsOf } from '../../words/refusals.ts'

type Limit = keyof ProjectPolicy

/** Fields of the policy, each with its words and what an empty field means. */
const policyFields = [
  ['message_budget', 'Messages of an agent to a peer in ten minutes', `Empty: ${limits.messageBudget}`],
  ['idle_seconds', 'Agents stop listening after so many seconds without a message', 'Empty: never'],
  ['empty_polls', 'Agents stop listening after so many empty polls', 'Empty: never'],
  ['retention_days', 'Days for which acknowledged messages are kept', `Empty: ${limits.retentionDays}`],
  ['audit_days', 'Days for which the audit is kept', `Empty: ${limits.auditDays}`],
] as const satisfies readonly (readonly [Limit, string, string])[]

interface Texts {
  readonly name: string
  readonly description: string
  /** Numbers as they are typed. */
  readonly policy: Readonly<Record<Limit, string>>
}

function textsOf({ name, description, policy }: Project): Texts {
  const text = (field: Limit) => policy[field]?.toString() ?? ''
  return {
    ...{ name, description },
    policy: {
      message_budget: text('message_budget'),
      idle_seconds: text('idle_seconds'),
      empty_polls: text('empty_polls'),
      retention_days: text('retention_days'),
      audit_days: text('audit_days'),
    },
  }
}

interface Props {
  readonly project: Project
  readonly refresh: () => Promise<void>
}

export function ProjectProfile({ project, refresh }: Props) {
  // Without a draft, the fields follow what the node has.
  const [draft, setDraft] = useState<{ readonly texts: Texts; readonly base: Texts }>()
  const { texts, base } = draft ?? { texts: textsOf(project), base: textsOf(project) }
  const edit = (change: Partial<Texts>) => {
    const to = { ...texts, ...change }
    setDraft(JSON.stringify(to) === JSON.stringify(base) ? undefined : { texts: to, base })
  }
  const save = async (from: Texts, to: Texts) => {
    await owner.projects.change(project.id, changeOf(from, to))
    await refresh()
  }
  const { isBusy, error, submit } = useSubmitting(async () => {
    await save(base, texts)
    // What was changed meanwhile is the next draft.
    setDraft((now) => (now === undefined || now.texts === texts ? undefined : { ...now, base: texts }))
    note('Saved.', () => save(texts, base))
  })
  const faults = faultsOf(error)
  return (
    <Section id="profile" title="Profile">
      <form onSubmit={submit}>
        <Field
          label="Name"
          required
          maxLength={limits.nameChars}
          value={texts.name}
          change={(name) => edit({ name })}
          fault={faults.name}
        />
        <TextArea
          label="Description"
          value={texts.description}
          change={(description) => edit({ description })}
          maxBytes={limits.descriptionBytes}
          fault={faults.description}
        />
        {policyFields.map(([field, label, hint]) => (
          <Field
            key={field}
            label={label}
            isNumber
            maxLength={9}
            value={texts.policy[field]}
            change={(text) => edit({ policy: { ...texts.policy, [field]: text.trim() } })}
            hint={hint}
            fault={faults[`policy/${field}`]}
          />
        ))}
        {Object.keys(faults).length === 0 && <Refusal error={error} />}
        <SaveOrUndo
          isBusy={isBusy}
          isChanged={draft !== undefined}
          isTooLong={bytesOf(texts.description) > limits.descriptionBytes}
          undo={() => setDraft(undefined)}
        />
      </form>
    </Section>
  )
}

/** Returns what differs. */
function changeOf(from: Texts, to: Texts) {
  const policy = policyFields.flatMap(([field]) =>
    from.policy[field] === to.policy[field]
      ? []
      : [[field, to.policy[field] === '' ? null : Number(to.policy[field])] as const],
  )
  return {
    ...(to.name !== from.name && { name: to.name.trim() }),
    ...(to.description !== from.description && { description: to.description }),
    ...(policy.length > 0 && { policy: Object.fromEntries(policy) }),
  }
}
