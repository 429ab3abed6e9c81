/** One prompt with its copy button, and how far its agent has come. */
import {
  type AuditRecord,
  connectionLabels,
  oneLine,
  type SnapshotAgent,
} from '../../../../../sdk/browser.ts'
import { Mark } from '../../parts/marks.tsx'
import { OnceOnly } from '../../parts/once-only.tsx'
import { Visible } from '../../text/visible.tsx'
import { presence } from '../../words/connection.ts'
import { ago, span, timeOfDay } from '../../words/time.ts'
import type { Enrolled } from './enrolled.ts'

interface Props {
  readonly enrolled: Enrolled
  readonly seen: SnapshotAgent | undefined
  readonly records: readonly AuditRecord[]
  readonly nowMs: number
  readonly isStale: boolean
  /** Removes the prompt from the state of the screen. */
  readonly drop: () => void
}

export function Prompt({ enrolled: { agent, issued }, seen, records, nowMs, isStale, drop }: Props) {
  const find = (kind: string) => records.findLast((each) => each.kind === kind)
  const [claimed, started, reused] = [
    find('enrollment.claimed'),
    find('session.started'),
    find('enrollment.reused'),
  ]
  const words = seen && presence(seen.connection, nowMs, isStale)
  const left = Date.parse(issued.expires_at) - nowMs
  return (
    <section class="card" aria-labelledby={`prompt-${agent.id}`}>
      <h2 id={`prompt-${agent.id}`}>
        <Visible text={agent.name} />
      </h2>
      {issued.prompt === '' ? (
        <p class="meta">The code is used.</p>
      ) : (
        <OnceOnly
          label={`Prompt of ${oneLine(agent.name)}`}
          copyLabel={`Copy ${oneLine(agent.name)}'s prompt`}
          secret={issued.prompt}
          note={`It works once and is shown once, until ${timeOfDay(Date.parse(issued.expires_at))}.`}
          isUsed={claimed !== undefined}
          hasClose={false}
          drop={drop}
        />
      )}
      <ul class="progress" role="status">
        {reused !== undefined && (
          <li class="fault">
            <Mark name="alert" /> The code was used a second time, by another key. Enrol the agent again.
          </li>
        )}
        {claimed === undefined && (
          <li>
            <Mark name="away" /> Waiting for <Visible text={agent.name} /> to enrol
            {Number.isFinite(left) && ` (code good for ${span(left)})`}
          </li>
        )}
        {claimed !== undefined && (
          <li>
            <Mark name="listening" /> Enrolled, {ago(nowMs - Date.parse(claimed.at))}
          </li>
        )}
        {started !== undefined && (
          <li>
            <Mark name="listening" /> Session started, {ago(nowMs - Date.parse(started.at))}
          </li>
        )}
        {started !== undefined && words !== undefined && (
          <li>
            <Mark name={words.mark} />{' '}
            {words.listening === 'yes' ? connectionLabels.listening_now : words.summary}
          </li>
        )}
      </ul>
    </section>
  )
}
