/** What needs the owner, each item with the action that settles it. */
import { type AttentionItem, attentionLabels } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { Visible } from '../../text/visible.tsx'
import { exact } from '../../words/time.ts'
import { Question } from './question.tsx'

interface Props {
  readonly project: string
  readonly items: readonly AttentionItem[]
  readonly refresh: () => Promise<void>
}

export function Attention({ project, items, refresh }: Props) {
  return (
    <section aria-labelledby="needs-you">
      <h2 id="needs-you">Needs you</h2>
      {items.length === 0 && <p class="meta">Nothing needs you.</p>}
      <ul class="attention">
        {items.map((item) => (
          <li key={`${item.kind} ${item.subject.id} ${item.agent?.id}`}>
            <p class="what">
              <Mark name={urgent.has(item.kind) ? 'alert' : 'overdue'} />{' '}
              <strong>{attentionLabels[item.kind]}</strong>{' '}
              {item.agent !== null && <Visible text={item.agent.name} />}
              {item.count > 1 && ` ×${item.count}`} <time class="meta">{exact(item.at)}</time>
            </p>
            {item.kind === 'question_to_owner' ? (
              <Question project={project} item={item} refresh={refresh} />
            ) : (
              <p class="meta">
                {hints[item.kind]}
                {item.subject.type === 'conversation' && item.subject.id !== null && (
                  <>
                    {' '}
                    <a href={`/projects/${project}/conversations/${item.subject.id}`}>
                      Open the conversation
                    </a>
                  </>
                )}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
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
  task_failed: 'bridge admin task show prints the reason.',
  unread_unheard: 'Start the agent, or look at its terminal.',
  question_to_owner: '',
  question_overdue: 'The other agent has not answered in the time that it was given.',
  no_credential_left: 'Enrol the agent again.',
}
