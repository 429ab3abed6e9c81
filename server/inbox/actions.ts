/**
 * Reads the inbox: first the messages that are new to this session, then due redeliveries. If there are none,
 * the caller waits.
 *
 * Reading never acknowledges. A message offered in this session is offered again only after the redelivery
 * interval, so a poll without new messages waits instead of returning old mail. An offer counts once its
 * bytes have been flushed.
 *
 * Contract §6.
 */
import type { InboxPage, OfferedMessage, Unacknowledged } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { beforeAll, type PageQuery } from '../database/page.ts'
import type { Db, MessageRow } from '../database/tables.ts'
import { inboxOf } from '../database/touches.ts'
import { type Admitted, readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { fitting } from '../messages/pages.ts'
import { toMessage } from '../messages/store.ts'
import * as store from './store.ts'

/** Result of one read. Its messages stay in flight for this reader until `settle` or `drop` is called. */
export interface InboxRead {
  readonly page: InboxPage
  readonly agent: Admitted
  /** In steady time, as is `nextDueAt`. */
  readonly at: Date
  /** When the next redelivery is due, if the page is empty. */
  readonly nextDueAt: Date | undefined
  /**
   * Must be called once with whether the bytes of the page were flushed. If so, the offer is recorded.
   * Otherwise the messages may be offered again, and the agent's other waits are notified.
   */
  settle(flushed: boolean): Promise<void>
  /** Called instead of `settle` if the same reader reads again immediately. */
  drop(): void
}

export interface PageSize {
  readonly messages: number
  /** Limit for the bodies as sent. At least one message is read, whatever its size. */
  readonly bytes?: number
}

const redeliveryMs = limits.redeliverySeconds * 1000
/** Delay until the next read while messages are in flight: when they are due is known once they are settled. */
const minDelayMs = 1000

export async function readInbox(context: Context, caller: AgentCaller, size: PageSize): Promise<InboxRead> {
  let held: Held | undefined
  try {
    const unit = async (db: Db, agent: Admitted, now: Date) => {
      // The unit may run again if its transaction was rolled back.
      held?.drop()
      held = undefined
      const at = context.steady.now()
      let heldBefore: number
      let found: Found
      do {
        heldBefore = context.offers.heldBy(agent.session.id)
        found = await findCandidates(context, db, agent, { at, limit: size.messages })
        // If another wait of the session chose messages meanwhile, the candidates may be too few.
      } while (context.offers.heldBy(agent.session.id) > heldBefore)
      // No await from here on: the chosen messages are marked as in flight before another wait of the session
      // can choose them.
      const { page, rows } = choose(context, agent, found, { now, size })
      held = hold(context, agent, rows, { now, at })
      return { page, agent, at, nextDueAt: dueAfter(found, at), ...held }
    }
    return await readAs(context, caller, unit, { alone: [inboxOf(caller.agent_id)] })
  } catch (error) {
    // The read ran in a transaction whose commit failed.
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

/** Reads candidates for a page: one more than fit in it, plus as many as are in flight in this session. */
async function findCandidates(
  context: Context,
  db: Db,
  agent: Admitted,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<Found> {
  const { id: session, generation } = agent.session
  const view = { agentId: agent.agent_id, generation, scopes: agent.scopes }
  const candidateLimit = limit + 1 + context.offers.heldBy(session)
  const waiting = await store.countWaiting(db, agent.agent_id)
  const neverOffered = await store.listNeverOffered(db, view, candidateLimit)
  // Shortcut for the usual case that all messages are new: each statement that is not run makes a wake-up
  // cheaper.
  if (waiting <= neverOffered.length) return { waiting, fresh: neverOffered, due: [], earliest: null }
  const offeredEarlier = await store.listOfferedEarlier(db, view, candidateLimit)
  const fresh =
    offeredEarlier.length === 0
      ? neverOffered
      : [...neverOffered, ...offeredEarlier].sort(byId).slice(0, candidateLimit)
  const due = await store.listDue(
    db,
    view,
    new Date(at.getTime() - redeliveryMs).toISOString(),
    candidateLimit,
  )
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
  const isFree = (row: MessageRow) => !context.offers.isHeld(session.id, row.id)
  const due = found.due.filter(isFree)
  const fresh = found.fresh.filter(isFree)
  const reserved = Math.min(due.length, context.offers.reservedSlots(session.id, limit))
  const chosenFresh = fresh.slice(0, limit - reserved)
  const rows = fitting([...chosenFresh, ...due.slice(0, limit - chosenFresh.length)], size.bytes)
  const messages = rows.map((row) => offered(row, now))
  return {
    page: { messages, has_more: fresh.length + due.length > rows.length, waiting: found.waiting },
    rows,
  }
}

const byId = (one: MessageRow, other: MessageRow): number => (one.id < other.id ? -1 : 1)

/** Lists unacknowledged messages like a history. It offers nothing and postpones no redelivery. */
export function listInbox(
  context: Context,
  caller: AgentCaller,
  query: PageQuery,
): Promise<{ readonly page: Unacknowledged; readonly agent: Admitted }> {
  const { after, limit = limits.pageDefault } = query
  return readAs(
    context,
    caller,
    async (db, agent) => {
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
    },
    { alone: [inboxOf(caller.agent_id)] },
  )
}

function dueAfter({ fresh, earliest }: Found, at: Date): Date | undefined {
  const soonMs = at.getTime() + minDelayMs
  // If the page is empty, all of them are in flight. They hide when earlier offers are due.
  if (fresh.length > 0) return new Date(soonMs)
  if (earliest === null) return undefined
  return new Date(Math.max(Date.parse(earliest) + redeliveryMs, soonMs))
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

/** Marks the messages of a page as in flight until they are settled. */
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
        context.wakeups.notifyHere(agent.agent_id)
        return
      }
      context.offers.countUsed(session, ids.length)
      try {
        await context.offerLog.record({
          ids,
          generation,
          offered_at: now.toISOString(),
          steady_at: at.toISOString(),
        })
      } finally {
        // Delayed, because a read whose snapshot is older than the commit may still be running.
        context.afterReads(release)
      }
    },
  }
}
