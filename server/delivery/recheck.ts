/**
 * The backstop of wake-ups: once a second one small query finds what was stored since, and wakes whose it is; every two
 * seconds another finds the waits whose agent may not listen any more, and wakes them, so that they end with the reason.
 *
 * A lost wake-up costs at most a second, a lost revocation two, also when another process wrote it. Contract §6.
 */
import { type Kysely, sql } from 'kysely'
import type { Context } from '../context.ts'
import { prepared } from '../database/prepared.ts'
import type { Tables } from '../database/tables.ts'

const everyMs = 1000

const storedSince = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'inbox_agent_id'])
    .where('id', '>', p('id'))
    .orderBy('id')
    .limit(1000),
)

/** Of these sessions, a JSON array, the agents that admission would refuse. */
const refusedAmong = prepared<{ session_ids: string; now: string }>()((db, p) =>
  db
    .selectFrom('sessions')
    .innerJoin('credentials', 'credentials.id', 'sessions.credential_id')
    .innerJoin('agents', 'agents.id', 'sessions.agent_id')
    .innerJoin('projects', 'projects.id', 'sessions.project_id')
    .select('sessions.agent_id')
    .where(sql<boolean>`sessions.id in (select value from json_each(${p('session_ids')}))`)
    .where((eb) =>
      eb.or([
        eb('sessions.state', '!=', 'active'),
        eb('credentials.revoked_at', 'is not', null),
        eb('credentials.expires_at', '<=', p('now')),
        eb('agents.state', '=', 'disabled'),
        eb('projects.state', '=', 'archived'),
      ]),
    ),
)

/** So many sessions are asked about in one read, which nothing else runs beside. */
const sessionsPerRead = 500

/** Runs until the returned function is called. */
export function startRecheck(context: Context): () => void {
  const wakeForNews = newsWaker(context)
  let busy = false
  let turn = 0
  const check = async () => {
    turn += 1
    await wakeForNews()
    if (turn % 2 === 0) await wakeRefused(context)
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

function newsWaker(context: Context): () => Promise<void> {
  let last = ''
  return async () => {
    const rows = await context.read((db) => storedSince.all(db, { id: last || newest(context.clock()) }))
    for (const agentId of new Set(rows.map((row) => row.inbox_agent_id))) {
      if (agentId !== null) context.wakeups.notify(agentId)
    }
    last = rows.at(-1)?.id ?? (last || newest(context.clock()))
  }
}

async function wakeRefused(context: Context): Promise<void> {
  const now = context.clock().toISOString()
  const waiting = context.presence.waitingSessions()
  for (let from = 0; from < waiting.length; from += sessionsPerRead) {
    const session_ids = JSON.stringify(waiting.slice(from, from + sessionsPerRead))
    const refused = await context.read((db: Kysely<Tables>) => refusedAmong.all(db, { session_ids, now }))
    for (const { agent_id } of refused) context.wakeups.notify(agent_id)
  }
}

/** An id that is smaller than any made from a few seconds ago on. */
function newest(now: Date): string {
  const time = (now.getTime() - 5000).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`
}
