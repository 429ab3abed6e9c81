/**
 * Reading the inbox: what is new to this session first, redeliveries when they are due, else wait.
 *
 * Reading never acknowledges. A message offered in this session is not offered again before the redelivery interval,
 * so a poll with nothing new waits instead of spinning on old mail. An offer counts when its bytes were flushed.
 *
 * Contract §6.
 */
import type { InboxPage, OfferedMessage, Unacknowledged } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { beforeAll, type PageQuery } from '../database/page.ts'
import type { Db, MessageRow } from '../database/tables.ts'
import { type Admitted, readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { fitting } from '../messages/pages.ts'
import { toMessage } from '../messages/store.ts'
import * as store from './store.ts'

/** What one read found. Its messages are held for whoever read them, until they are settled or dropped. */
export interface InboxRead {
  readonly page: InboxPage
  readonly agent: Admitted
  /** In steady time, as is `nextDueAt`. */
  readonly at: Date
  /** When a redelivery falls due, if the page is empty. */
  readonly nextDueAt: Date | undefined
  /**
   * To be called once, with whether the bytes of the page were flushed: then the offer is recorded, else the messages
   * are free again and the agent's other waits hear of it.
   */
  settle(flushed: boolean): Promise<void>
  /** In place of `settle`, when the same reader reads again at once. */
  drop(): void
}

export interface PageSize {
  readonly messages: number
  /** Of the bodies as they travel. At least one message is read whatever its size. */
  readonly bytes?: number
}

const redeliveryMs = limits.redeliverySeconds * 1000
/** What falls due but is held by another wait, or is due in the same instant, is looked at again no sooner. */
const soonestMs = 1000

export async function readInbox(context: Context, caller: AgentCaller, size: PageSize): Promise<InboxRead> {
  let held: Held | undefined
  try {
    return await readAs(context, caller, async (db, agent, now) => {
      const at = context.steady.now()
      const found = await lookUp(context, db, agent, { at, limit: size.messages })
      // From here on nothing is awaited: what is chosen is held before another wait of the session can choose it too.
      const { page, rows } = choose(context, agent, found, { now, size })
      held = hold(context, agent, rows, { now, at })
      return { page, agent, at, nextDueAt: dueAfter(found.earliest, at), ...held }
    })
  } catch (error) {
    // It was read in a transaction that did not reach the disk.
    held?.drop()
    throw error
  }
}

type Held = Pick<InboxRead, 'settle' | 'drop'>

interface Found {
  readonly waiting: number
  readonly fresh: readonly MessageRow[]
  readonly due: readonly MessageRow[]
  readonly earliest: string | null
}

/** What may be chosen from: as much as one page takes and one more, and what is held beside. */
async function lookUp(
  context: Context,
  db: Db,
  agent: Admitted,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<Found> {
  const { id: session, generation } = agent.session
  const view = { agentId: agent.agent_id, generation, scopes: agent.scopes }
  const enough = limit + 1 + context.offers.heldBy(session)
  const waiting = await store.countWaiting(db, agent.agent_id)
  const never = await store.listNeverOffered(db, view, enough)
  // Most often that is all there is: every statement that is not run is part of each wake-up's price.
  if (waiting <= never.length) return { waiting, fresh: never, due: [], earliest: null }
  const earlier = await store.listOfferedEarlier(db, view, enough)
  const fresh = earlier.length === 0 ? never : [...never, ...earlier].sort(byId).slice(0, enough)
  const due = await store.listDue(db, view, new Date(at.getTime() - redeliveryMs).toISOString(), enough)
  const earliest = fresh.length > 0 ? null : await store.findEarliestOffer(db, view)
  return { waiting, fresh, due, earliest }
}

function choose(
  context: Context,
  { session }: Admitted,
  found: Found,
  { now, size }: { readonly now: Date; readonly size: PageSize },
): { readonly page: InboxPage; readonly rows: readonly MessageRow[] } {
  const limit = size.messages
  const notHeld = (row: MessageRow) => !context.offers.isHeld(session.id, row.id)
  const due = found.due.filter(notHeld)
  const fresh = found.fresh.filter(notHeld)
  const kept = Math.min(due.length, context.offers.kept(session.id, limit))
  const newOnes = fresh.slice(0, limit - kept)
  const rows = fitting([...newOnes, ...due.slice(0, limit - newOnes.length)], size.bytes)
  const messages = rows.map((row) => offered(row, now))
  return {
    page: { messages, has_more: fresh.length + due.length > rows.length, waiting: found.waiting },
    rows,
  }
}

const byId = (one: MessageRow, other: MessageRow): number => (one.id < other.id ? -1 : 1)

/** What the agent has not acknowledged, read like a history: nothing is offered by it, nothing is held or postponed. */
export function listInbox(
  context: Context,
  caller: AgentCaller,
  query: PageQuery,
): Promise<{ readonly page: Unacknowledged; readonly agent: Admitted }> {
  const { after, limit = limits.pageDefault } = query
  return readAs(context, caller, async (db, agent) => {
    const view = { agentId: agent.agent_id, scopes: agent.scopes }
    const rows = await store.listUnacknowledged(db, view, { after: after ?? beforeAll, limit: limit + 1 })
    const shown = fitting(rows.slice(0, limit), limits.pageBytes)
    const page = {
      messages: shown.map(toMessage),
      has_more: rows.length > shown.length,
      next_after: shown.at(-1)?.id ?? after ?? null,
      waiting: await store.countWaiting(db, agent.agent_id),
    }
    return { page, agent }
  })
}

function dueAfter(earliest: string | null, at: Date): Date | undefined {
  if (earliest === null) return undefined
  return new Date(Math.max(Date.parse(earliest) + redeliveryMs, at.getTime() + soonestMs))
}

function offered(row: MessageRow, now: Date): OfferedMessage {
  const message = toMessage(row)
  return {
    ...message,
    delivery: {
      ...message.delivery,
      offers: row.offers + 1,
      attempt: row.offers + 1,
      first_offered_at: row.first_offered_at ?? now.toISOString(),
    },
  }
}

/** Hold the messages of a page while their bytes travel. */
function hold(
  context: Context,
  agent: Admitted,
  rows: readonly MessageRow[],
  { now, at }: { readonly now: Date; readonly at: Date },
): Held {
  const ids = rows.map(({ id }) => id)
  const { id: session, generation } = agent.session
  if (ids.length > 0) context.offers.hold(session, ids)
  const release = () => context.offers.release(session, ids)
  return {
    drop: release,
    async settle(flushed) {
      if (ids.length === 0) return
      if (!flushed) {
        release()
        context.wakeups.notify(agent.agent_id)
        return
      }
      context.offers.used(session, ids.length)
      try {
        await context.offerLog.record({
          ids,
          generation,
          offered_at: now.toISOString(),
          steady_at: at.toISOString(),
        })
      } finally {
        // A read whose snapshot is older than the commit ends within this turn of the event loop.
        setImmediate(release)
      }
    },
  }
}
