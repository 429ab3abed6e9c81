/** One message: its verified facts outside, its text in a box. */
import type { Message as Data } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { Body } from '../../text/body.tsx'
import { Visible } from '../../text/visible.tsx'
import { exact } from '../../words/time.ts'

interface Props {
  readonly message: Data
  readonly repliesTo: number | undefined
  readonly isMine: boolean
}

const kinds = { agent: 'agent', owner: 'owner', system: 'the service' } as const

export function Message({ message, repliesTo, isMine }: Props) {
  const { sequence, sender, type, created_at, expects_reply_by, body, encoding } = message
  return (
    <li id={`m${sequence}`} class={`message ${sender.kind}`}>
      <header>
        <span class={`sender ${sender.kind}`}>{kinds[sender.kind]}</span>{' '}
        <strong>
          <Visible text={sender.name} />
        </strong>
        {isMine && sender.kind === 'owner' && ' (you)'} <span>{type}</span>
        {repliesTo !== undefined && (
          <>
            {' '}
            to <a href={`#m${repliesTo}`}>#{repliesTo}</a>
          </>
        )}{' '}
        <span class="meta">
          #{sequence} · <time dateTime={created_at}>{exact(created_at)}</time>
          {expects_reply_by !== null && ` · reply expected by ${exact(expects_reply_by)}`}
        </span>
      </header>
      <Body text={body} from={sender.name} encoding={encoding} />
      <Delivery delivery={message.delivery} />
    </li>
  )
}

function Delivery({ delivery: { offers, first_offered_at, acknowledged_at } }: Pick<Data, 'delivery'>) {
  if (acknowledged_at !== null)
    return (
      <p class="meta">
        <Mark name="acknowledged" /> acknowledged {exact(acknowledged_at)}
      </p>
    )
  if (first_offered_at !== null)
    return (
      <p class="meta">
        <Mark name="offered" /> offered{offers > 1 && ` ×${offers}`} {exact(first_offered_at)}, not
        acknowledged
      </p>
    )
  return (
    <p class="meta">
      <Mark name="stored" /> stored, not offered yet
    </p>
  )
}
