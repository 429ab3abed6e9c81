/**
 * The backstop of wake-ups: once a second one small query finds what was stored since, and wakes whose it is.
 *
 * A lost wake-up costs at most a second, whatever the number of waits. Contract §6.
 */
import type { Context } from '../context.ts'
import { prepared } from '../database/prepared.ts'

const everyMs = 1000

const storedSince = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'inbox_agent_id'])
    .where('id', '>', p('id'))
    .orderBy('id')
    .limit(1000),
)

/** Runs until the returned function is called. */
export function startRecheck(context: Context): () => void {
  let last = ''
  let busy = false
  const check = async () => {
    const rows = await context.read((db) => storedSince.all(db, { id: last || newest(context.clock()) }))
    for (const agentId of new Set(rows.map((row) => row.inbox_agent_id))) {
      if (agentId !== null) context.wakeups.notify(agentId)
    }
    last = rows.at(-1)?.id ?? (last || newest(context.clock()))
  }
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    check()
      .catch((error: unknown) => context.log.error({ err: error }, 'the recheck of wake-ups failed'))
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** An id that is smaller than any made from a few seconds ago on. */
function newest(now: Date): string {
  const time = (now.getTime() - 5000).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}
