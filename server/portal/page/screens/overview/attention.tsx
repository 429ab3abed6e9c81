/** The items that need the owner, each with the action that settles it. */
import { type AttentionItem, attentionLabels } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { readerSide } from '../../words/people.ts'
import { plural } from '../../words/plural.ts'
import { Question } from './question.tsx'

interface Props {
  readonly project: string
  readonly items: readonly AttentionItem[]
  /** Number of messages to the owner that nobody has acknowledged, questions among them. */
  readonly toOwner: number
  readonly refresh: () => Promise<void>
}

export function Attention({ project, items, toOwner, refresh }: Props) {
  return (
    <section aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you</h2>
      {items.length === 0 && toOwner === 0 && <p class="meta">Nothing needs you.</p>}
      {toOwner > 0 && (
        <p>
          <a href={`/projects/${project}/conversations`}>
            {plural(toOwner, 'unacknowledged message')} to {readerSide()}
          </a>
        </p>
      )}
      <ul class="attention">
        {inOrder(items).map((item) => (
          <li key={`${item.kind} ${item.subject.id} ${item.agent?.id}`}>
            <p class="what">
              <Mark name={urgent.has(item.kind) ? 'alert' : 'overdue'} />{' '}
              <strong>{attentionLabels[item.kind]}</strong>{' '}
              {item.agent !== null && <Visible text={item.agent.name} />}
              {item.count > 1 && ` ×${item.count}`}{' '}
              <span class="meta">
                <When at={item.at} />
              </span>
            </p>
            {item.kind === 'question_to_owner' ? (
              <Question project={project} item={item} refresh={refresh} />
            ) : (
              <p class="actions">
                <span class="meta">{hints[item.kind]}</span>
                <Way project={project} item={item} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The one link that leads to what settles the item. */
function Way({ project, item: { kind, agent, subject } }: Pick<Props, 'project'> & { item: AttentionItem }) {
  const [noun, words, section] = ways[kind]
  const id = noun === 'agents' ? (agent?.id ?? null) : subject.id
  if (id === null) return null
  return (
    <a class="button quiet small" href={`/projects/${project}/${noun}/${id}${section ?? ''}`}>
      {words}
    </a>
  )
}

/** Kinds in which the owner is asked, or security is at stake. */
const first: ReadonlySet<AttentionItem['kind']> = new Set([
  'enrollment_reused',
  'question_to_owner',
  'guard_tripped',
])

/** The first kinds before the others, newest first in both groups, as the node lists them. */
const inOrder = (items: readonly AttentionItem[]): readonly AttentionItem[] =>
  items.toSorted((one, other) => Number(first.has(other.kind)) - Number(first.has(one.kind)))

type WayTo = readonly [noun: string, words: string, section?: `#${string}`]

const ways: Readonly<Record<AttentionItem['kind'], WayTo>> = {
  enrollment_reused: ['agents', 'Enrol again', '#enrolment'],
  session_replacement_refused: ['agents', 'See the agent', '#takeover'],
  guard_tripped: ['conversations', 'Open the conversation'],
  agent_overdue: ['agents', 'See the agent', '#presence'],
  task_failed: ['tasks', 'See the task'],
  unread_unheard: ['agents', 'See the agent', '#presence'],
  question_to_owner: ['messages', 'Open the question'],
  question_overdue: ['messages', 'Open the question'],
  no_credential_left: ['agents', 'Enrol again', '#enrolment'],
}

const urgent: ReadonlySet<AttentionItem['kind']> = new Set([
  'enrollment_reused',
  'session_replacement_refused',
])

const hints: Readonly<Record<AttentionItem['kind'], string>> = {
  enrollment_reused: 'Somebody else may have the code. Revoke the credential and enrol the agent again.',
  session_replacement_refused: 'Stop one of the two programs that run as this agent.',
  guard_tripped: 'Write to one of the agents to let them go on.',
  agent_overdue: 'Look at the terminal of the agent.',
  task_failed: 'The task has the reason.',
  unread_unheard: 'Start the agent, or look at its terminal.',
  question_to_owner: '',
  question_overdue: 'The other agent has not answered in the time that it was given.',
  no_credential_left: 'Enrol the agent again.',
}
