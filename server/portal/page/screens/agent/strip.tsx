/** Audit records of an agent in the last 24 hours, counted for each half hour. */
import { useEffect, useState } from 'preact/hooks'
import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { nodeNow } from '../../node-clock.ts'
import { owner } from '../../owner.ts'
import { usePages } from '../../parts/page-of.tsx'
import { olderOf } from '../../parts/whole.ts'
import { timeOfDay } from '../../words/time.ts'
import type { About } from './about.ts'

const steps = 48
const stepMs = 1_800_000
const readAtMost = 500
const height = 40

export function Strip({ project, agent: { id }, live }: About) {
  const [endMs] = useState(() => nodeNow.peek())
  const since = new Date(endMs - steps * stepMs).toISOString()
  const records = usePages(
    `strip ${id}`,
    async (after, signal) => {
      const options = { actorId: id, since, order: 'newest_first', limit: 100, signal } as const
      const page = await owner.audit.list(project, { ...options, after })
      return { items: page.audit, older: olderOf(page) }
    },
    { live, kinds: ['session.'], isFixed: true },
  )
  const all = records.items.value ?? []
  const isMore = records.hasOlder.value && all.length < readAtMost
  useEffect(() => {
    if (isMore) void records.older()
  }, [isMore, all.length])
  if (records.items.value === undefined) return null
  const begin = endMs - steps * stepMs
  const bars = Array.from({ length: steps }, () => 0)
  const begun = Array.from({ length: steps }, () => false)
  for (const { at, kind } of all) {
    const index = Math.min(steps - 1, Math.max(0, Math.floor((Date.parse(at) - begin) / stepMs)))
    bars[index] = (bars[index] ?? 0) + 1
    if (kind === 'session.started') begun[index] = true
  }
  const most = Math.max(1, ...bars)
  return (
    <figure class="strip">
      <svg viewBox={`0 0 ${steps * 10} ${height + 10}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((count, index) => (
          <rect
            key={index}
            class={count === 0 ? 'none' : undefined}
            x={index * 10 + 1}
            width={8}
            y={count === 0 ? height - 1 : height - Math.max(4, (height * count) / most)}
            height={count === 0 ? 1 : Math.max(4, (height * count) / most)}
          />
        ))}
        {begun.map((is, index) => is && <path key={index} d={`M${index * 10 + 1} ${height + 9}h8l-4 -6z`} />)}
      </svg>
      <figcaption class="meta">
        24 hours to {timeOfDay(endMs)}: {summary(all)}
        {records.hasOlder.value && ', in the latest 500 records'}. A triangle marks a new session. What the
        audit recorded; listening itself is not recorded.
      </figcaption>
    </figure>
  )
}

const nouns = [
  ['session.started', 'session start'],
  ['session.closed', 'session end'],
  ['session.schedule_reported', 'schedule'],
  ['message.sent', 'message'],
  ['task.', 'step of a task', 'steps of tasks'],
  ['transfer.', 'step of a transfer', 'steps of transfers'],
] as const

function summary(records: readonly AuditRecord[]): string {
  const known = (beginning: string) => records.filter(({ kind }) => kind.startsWith(beginning)).length
  const counts = nouns.map(([beginning, one, many = `${one}s`]) => ({ count: known(beginning), one, many }))
  const others = records.length - counts.reduce((sum, { count }) => sum + count, 0)
  const words = [...counts, { count: others, one: 'other record', many: 'other records' }]
    .filter(({ count }) => count > 0)
    .map(({ count, one, many }) => `${count} ${count === 1 ? one : many}`)
  return words.length === 0 ? 'nothing' : words.join(', ')
}
