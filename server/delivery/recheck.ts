/**
 * Backstop for lost wake-ups. Once per second a small query finds the messages stored since the last query
 * and notifies their recipients.
 *
 * A lost wake-up therefore delays a message by at most a second, whatever the number of waits. On PostgreSQL,
 * where ids rise only within a project, `shared-recheck.ts` replaces this query. Contract §6.
 */

import type { FastifyBaseLogger } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'
import type { Bus } from '../bus/bus.ts'
import { noLane } from '../database/lanes.ts'
import type { Nodes } from '../database/nodes.ts'
import { prepared } from '../database/prepared.ts'
import type { Reader } from '../database/reader.ts'
import { isOneOf } from '../database/sql.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { Db } from '../database/tables.ts'
import type { Writer } from '../database/writer.ts'
import { Outage } from '../outage.ts'
import type { Presence } from './presence.ts'
import type { Wakeups } from './wakeups.ts'

/** The services of the server that the recheck needs. */
export interface RecheckServices {
  readonly clock: () => Date
  readonly steady: SteadyClock
  readonly read: Reader['read']
  readonly write: Writer['write']
  readonly presence: Presence
  readonly wakeups: Wakeups
  readonly bus: Pick<Bus, 'mode'>
  readonly nodes: Pick<Nodes, 'isMember'>
  readonly log: Pick<FastifyBaseLogger, 'error'>
}

const everyMs = 1000
const batchRows = 1000
/** The first query goes back this far. */
const recentMs = 5000

const storedSince = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('messages')
    .select(['id', 'inbox_agent_id'])
    .where('id', '>', p('id'))
    .orderBy('id')
    .limit(batchRows),
)

/** Runs until the returned function is called. */
export function startRecheck(context: RecheckServices): () => void {
  const beganIso = new Date(context.steady.now().getTime() - recentMs).toISOString()
  let last: string | undefined
  return repeat(context, everyMs, async () => {
    let found: number
    do {
      // As long as no message was found, the id is computed anew: a clock that is set back makes it smaller.
      const since = last ?? context.steady.idBefore(beganIso)
      const rows = await context.read((db) => storedSince.all(db, { id: since }))
      for (const agentId of new Set(rows.map((row) => row.inbox_agent_id))) {
        if (agentId !== null) context.wakeups.notifyHere(agentId)
      }
      last = rows.at(-1)?.id ?? last
      found = rows.length
    } while (found === batchRows)
  })
}

type Occupied = ReadonlyMap<string, string>

/** Returns the agents of the given sessions that have lost access. */
async function findEnded(db: Db, sessions: Occupied, nowIso: string): Promise<string[]> {
  const ids = [...sessions.keys()]
  const [ended, removed] = await Promise.all([findDenied(db, ids, nowIso), findRemoved(db, ids)])
  return [...ended, ...removed.map((id) => sessions.get(id) ?? '')]
}

/** Returns the sessions whose rows are removed, as after the deletion of a project. */
async function findRemoved(db: Db, ids: readonly string[]): Promise<readonly string[]> {
  const stored = db.selectFrom('sessions').where(isOneOf('id', ids))
  const { count } = await stored
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) === ids.length) return []
  const rows = await stored.select('id').execute()
  const found = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !found.has(id))
}

async function findDenied(db: Db, sessionIds: readonly string[], nowIso: string): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .innerJoin('credentials', 'credentials.id', 'sessions.credential_id')
    .innerJoin('agents', 'agents.id', 'sessions.agent_id')
    .innerJoin('projects', 'projects.id', 'sessions.project_id')
    .select('sessions.agent_id')
    .where(isOneOf('sessions.id', sessionIds))
    .where((eb) =>
      eb.or([
        eb('sessions.state', '!=', 'active'),
        eb('credentials.revoked_at', 'is not', null),
        eb('credentials.expires_at', '<=', nowIso),
        eb('agents.state', '=', 'disabled'),
        eb('projects.state', '=', 'archived'),
        eb('projects.deleted_at', 'is not', null),
      ]),
    )
    .execute()
  return rows.map((row) => row.agent_id)
}

const batch = 500
/** PostgreSQL answers other requests at the same time. */
const sharedBatch = 5000

/**
 * Backstop for lost access on all transports: every two seconds, and on PostgreSQL every second. There another
 * node may deny a wait, and its notification may be lost unnoticed; the wait ends within two seconds anyway.
 * The batches are too small to delay requests. The affected agents are notified, and admission refuses their
 * next read with the reason.
 */
export function startAccessRecheck(context: RecheckServices): () => void {
  const isShared = context.bus.mode !== 'none'
  const size = isShared ? sharedBatch : batch
  const check = async () => {
    const sessions = [...context.presence.occupiedSessions()]
    for (let start = 0; start < sessions.length; start += size) {
      const some = new Map(sessions.slice(start, start + size))
      const ended = await context.read((db) => findEnded(db, some, context.clock().toISOString()))
      for (const agentId of new Set(ended)) context.wakeups.notifyHere(agentId)
    }
    await renewContact(context, size)
  }
  return repeat(context, (limits.recheckSeconds * 1000) / (isShared ? 2 : 1), check)
}

/**
 * An open wait, upload or download proves contact. The node stores this once per minute, so that the session
 * is alive after a restart too. A contact that a rolled back transaction left unsaved is stored as well.
 */
async function renewContact(context: RecheckServices, size: number): Promise<void> {
  const { presence } = context
  const now = context.steady.now()
  const store = async (sessions: readonly string[], at?: Date) => {
    for (let start = 0; start < sessions.length; start += size) {
      const some = sessions.slice(start, start + size)
      await context.write(noLane, async (tx) => {
        const contact = at?.toISOString() ?? tx.steadyIso
        await tx.db
          .updateTable('sessions')
          .set({ last_contact_at: contact })
          .where(isOneOf('id', some))
          .where('state', '=', 'active')
          .where('last_contact_at', '<', contact)
          .execute()
      })
      for (const id of some) presence.saved(id, now)
    }
  }
  await store(presence.dueRenewals(now))
  for (const [atMs, sessions] of presence.unsavedContacts(now)) await store(sessions, new Date(atMs))
}

function repeat(context: RecheckServices, everyMs: number, check: () => Promise<void>): () => void {
  let busy = false
  const outage = new Outage()
  const timer = setInterval(() => {
    // A node that the others count as ended may not read.
    if (busy || !context.nodes.isMember()) return
    busy = true
    check()
      .then(() => outage.end())
      .catch((error: unknown) => {
        if (outage.isNew(error)) context.log.error({ err: error }, 'the recheck of open waits failed')
      })
      .finally(() => {
        busy = false
      })
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
