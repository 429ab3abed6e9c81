/** Changes of a task in their order, with actor, claim, state and reason. */
import type { TaskEntry } from '../../../../../sdk/browser.ts'
import { Body } from '../../parts/body.tsx'
import { Mark } from '../../parts/marks.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { eventWords, runsOf, taskStates } from '../../words/tasks.ts'

export function Timeline({ entries }: { readonly entries: readonly TaskEntry[] }) {
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol class="timeline">
        {runsOf(entries).map(({ entry, count }) => (
          <Entry key={entry.id} entry={entry} count={count} />
        ))}
      </ol>
    </section>
  )
}

function Entry({ entry, count }: { readonly entry: TaskEntry; readonly count: number }) {
  const { at, actor, state, claim_generation: claim, percent, reason } = entry
  const { mark, words } = taskStates[state]
  const more = [
    ...(claim === null || claim === 0 ? [] : [`claim ${claim}`]),
    ...(percent === null ? [] : [`${percent} %`]),
    ...(count === 1 ? [] : [`${count} times`]),
  ]
  return (
    <li>
      <p class="meta">
        <When at={at} isExact />
      </p>
      <div>
        <p>
          {actor.kind === 'system' ? 'the service' : <Visible text={actor.name} />}
          {actor.kind === 'owner' && ' (owner)'} {eventWords(entry)}
          {more.length > 0 && <span class="meta"> · {more.join(' · ')}</span>}
        </p>
        <p class="meta">
          <Mark name={mark} /> {words}
        </p>
        {reason !== null && (
          <Body text={reason} from={actor.kind === 'system' ? 'the service' : actor.name} />
        )}
      </div>
    </li>
  )
}
