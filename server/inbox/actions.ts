/**
 * Reading the inbox: what is new to this session first, redeliveries when they are due, else wait.
 *
 * Reading never acknowledges. A message offered in this session is not offered again before the redelivery interval,
 * so a poll with nothing new waits instead of spinning on old mail. An offer counts when its bytes were flushed.
 *
 * Contract §6.
 */
import type { Kysely } from 'kysely'
import type { InboxPage, OfferedMessage } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import type { MessageRow, Tables } from '../database/tables.ts'
import { type Admitted, readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { toMessage } from '../messages/store.ts'
import * as store from './store.ts'

type Db = Kysely<Tables>

/** What one read found: the page, and when a redelivery falls due if nothing was there. */
export interface InboxRead {
  readonly page: InboxPage
  readonly agent: Admitted
  readonly at: Date
  readonly nextDueAt: Date | undefined
}

const redeliveryMs = limits.redeliverySeconds * 1000

/**
 * The messages of the page are held while their bytes travel: no other read of the session gets them. Whoever reads
 * calls `offerOf` and tells it how that ended.
 */
export function readInbox(context: Context, caller: AgentCaller, limit: number): Promise<InboxRead> {
  return readAs(context, caller, async (db, agent, at) => {
    const { id: session, generation } = agent.session
    const view = { agentId: agent.agent_id, generation, scopes: agent.scopes }
    const notHeld = (row: MessageRow) => !context.offers.isHeld(session, row.id)
    const held = context.offers.heldBy(session)
    const dueBefore = new Date(at.getTime() - redeliveryMs).toISOString()

    const allDue = await store.listDue(db, view, dueBefore, limit + held)
    const allFresh = await store.listFresh(db, view, limit + 1 + held)
    const waiting = await store.countWaiting(db, agent.agent_id)

    // Nothing is awaited until the page is held: what is not held now is held by nobody else before.
    const due = allDue.filter(notHeld)
    const fresh = allFresh.filter(notHeld)
    const kept = Math.min(due.length, context.offers.kept(session, limit))
    const newOnes = fresh.slice(0, limit - kept)
    const rows = [...newOnes, ...due.slice(0, limit - newOnes.length)]
    context.offers.hold(
      session,
      rows.map(({ id }) => id),
    )
    const has_more = fresh.length + due.length > rows.length
    const page = { messages: rows.map((row) => offered(row, at)), has_more, waiting }
    const nextDueAt = rows.length > 0 ? undefined : await nextDue(context, db, view, session)
    return { page, agent, at, nextDueAt }
  })
}

/** A message that is on its way is no reason to look again: its reader's end is, and that wakes. */
async function nextDue(context: Context, db: Db, view: store.InboxView, session: string) {
  const offers = await store.listEarliestOffers(db, view, 1 + context.offers.heldBy(session))
  const next = offers.find(({ id }) => !context.offers.isHeld(session, id))
  return next === undefined ? undefined : new Date(Date.parse(next.last_offered_at) + redeliveryMs)
}

function offered(row: MessageRow, at: Date): OfferedMessage {
  const message = toMessage(row)
  return {
    ...message,
    delivery: {
      ...message.delivery,
      offers: row.offers + 1,
      attempt: row.offers + 1,
      first_offered_at: row.first_offered_at ?? at.toISOString(),
    },
  }
}

/**
 * The offer that a read made. The returned function is called once with whether the bytes were flushed: then the offer
 * is recorded, else the messages are free again and another read of the agent is woken for them.
 */
export function offerOf(
  context: Context,
  { page, agent, at }: InboxRead,
): (flushed: boolean) => Promise<void> {
  const ids = page.messages.map((message) => message.id)
  context.offers.used(agent.session.id, ids.length)
  return async (flushed) => {
    if (ids.length === 0) return
    try {
      const offer = { generation: agent.session.generation, at: at.toISOString() }
      if (flushed) await context.write((tx) => store.markOffered(tx, ids, offer))
    } finally {
      context.offers.release(agent.session.id, ids)
      if (!flushed) context.wakeups.notify(agent.agent_id)
    }
  }
}
