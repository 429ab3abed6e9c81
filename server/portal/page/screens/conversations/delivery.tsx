/** How far a message has come: stored, offered, acknowledged, each with its time. */
import type { Message } from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { readerSide } from '../../words/people.ts'
import { exact } from '../../words/time.ts'

const uncounted = 'An agent that reads its inbox itself is not counted until it acknowledges.'

export function Delivery({ delivery, recipient }: Pick<Message, 'delivery' | 'recipient'>) {
  const { offers, first_offered_at, acknowledged_at, stored_at } = delivery
  const offered = first_offered_at !== null && `offered${offers > 1 ? ` ×${offers}` : ''}`
  const mark = acknowledged_at !== null ? 'acknowledged' : first_offered_at !== null ? 'offered' : 'stored'
  const notOffered = <span title={uncounted}>stored; not offered to a listener</span>
  return (
    <p class="meta" title={`stored ${exact(stored_at)}`}>
      <Mark name={mark} />{' '}
      {acknowledged_at !== null
        ? `acknowledged ${exact(acknowledged_at)}`
        : first_offered_at !== null
          ? `${offered} ${exact(first_offered_at)}, not acknowledged`
          : recipient.kind === 'owner'
            ? `to ${readerSide()}; not acknowledged`
            : notOffered}
      {acknowledged_at !== null && offers > 1 && `, ${offered}`}
    </p>
  )
}
