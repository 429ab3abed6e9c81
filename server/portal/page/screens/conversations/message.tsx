/** One message: its verified facts outside, its text in a box. */
import { type Message as Data, limits } from '../../../../../sdk/browser.ts'
import { Body } from '../../parts/body.tsx'
import { Visible } from '../../text/visible.tsx'
import { peopleSide, roleOfWriter } from '../../words/people.ts'
import { exact } from '../../words/time.ts'
import { Card } from './card.tsx'
import { Delivery } from './delivery.tsx'

/** Hops at which a reader may begin to wonder. */
const manyHops = 10

export interface Around {
  readonly project: string
  /** Numbers of the loaded messages by id. */
  readonly numbers: ReadonlyMap<string, number>
  /** Number of the first loaded answer to each message, by id. */
  readonly answers: ReadonlyMap<string, number>
  readonly nameOf: (agent: string) => string | undefined
  readonly isMe: (name: string) => boolean
  readonly nowMs: () => number
  /** Begins an answer of the owner. */
  readonly answer: (message: Data) => void
  readonly acknowledge: (message: Data) => void
}

interface Props {
  readonly message: Data
  readonly around: Around
}

export function Message({ message, around }: Props) {
  const { id, sequence, sender, recipient, type, created_at, body, encoding, task_id, transfer_id } = message
  const reader = around.nameOf(message.recipient_agent_id)
  const isToOwner = recipient.kind === 'owner'
  const isMine = sender.kind === 'owner' && around.isMe(sender.name)
  const kinds = { agent: 'agent', owner: roleOfWriter(isMine), system: 'the service' }
  return (
    <article
      id={`m${sequence}`}
      class={`message ${sender.kind}`}
      data-number={sequence}
      data-row
      tabIndex={-1}
      aria-labelledby={`h${sequence}`}
    >
      <header>
        <span id={`h${sequence}`}>
          <span class={`sender ${sender.kind}`}>{kinds[sender.kind]}</span>{' '}
          {sender.kind !== 'system' && (
            <strong>
              <Visible text={sender.name} />
            </strong>
          )}
          {isMine && ' (you)'} {type}
          {sender.kind !== 'agent' && (
            <span class="meta">
              {' to '}
              {isToOwner ? peopleSide() : <Visible text={reader ?? 'an agent'} />}
            </span>
          )}
        </span>
        <Reply message={message} around={around} />
        <span class="meta">
          <a href={`?at=${sequence}`}>#{sequence}</a> · <time dateTime={created_at}>{exact(created_at)}</time>
          {message.hops > manyHops && ` · hop ${message.hops} of ${limits.hops}`}
        </span>
      </header>
      <Body
        text={body}
        from={sender.kind === 'system' ? 'the service' : sender.name}
        isOfService={sender.kind === 'system'}
        encoding={encoding}
        reader={isToOwner ? peopleSide() : reader}
      />
      {task_id !== null && <Card kind="task" project={around.project} id={task_id} />}
      {transfer_id !== null && <Card kind="transfer" project={around.project} id={transfer_id} />}
      <Expected message={message} around={around} />
      <Delivery delivery={message.delivery} recipient={recipient} />
      {isToOwner && (
        <p class="actions">
          {sender.kind === 'agent' && (
            <button type="button" class="quiet small" onClick={() => around.answer(message)}>
              Answer
            </button>
          )}
          {message.delivery.acknowledged_at === null && (
            <button
              type="button"
              class="quiet small"
              aria-label={`Acknowledge #${sequence}`}
              onClick={() => around.acknowledge(message)}
            >
              Acknowledge
            </button>
          )}
        </p>
      )}
      {around.answers.has(id) && (
        <p class="meta">
          answered in <a href={`?at=${around.answers.get(id)}`}>#{around.answers.get(id)}</a>
        </p>
      )}
    </article>
  )
}

function Reply({ message: { in_reply_to }, around: { numbers, project } }: Props) {
  if (in_reply_to === null) return null
  const number = numbers.get(in_reply_to)
  return (
    <span>
      in reply to{' '}
      {number === undefined ? (
        <a href={`/projects/${project}/messages/${in_reply_to}`}>an older message</a>
      ) : (
        <a href={`?at=${number}`}>#{number}</a>
      )}
    </span>
  )
}

function Expected({ message: { id, expects_reply_by }, around }: Props) {
  if (expects_reply_by === null) return null
  const isOverdue = Date.parse(expects_reply_by) < around.nowMs() && !around.answers.has(id)
  return (
    <p class={isOverdue ? 'fault' : 'meta'}>
      Reply expected by {exact(expects_reply_by)}
      {isOverdue && ': overdue'}
    </p>
  )
}
