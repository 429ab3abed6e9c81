/**
 * Reading the inbox: what is new to this session first, redeliveries when they are due, else wait.
 *
 * Reading never acknowledges. A message offered in this session is not offered again before the redelivery interval,
 * so a poll with nothing new waits instead of spinning on old mail. An offer counts when its bytes were flushed.
 *
 * Contract §6.
 */
import type { InboxPage, OfferedMessage } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import type { MessageRow } from '../database/tables.ts'
import { type Admitted, readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { toMessage } from '../messages/store.ts'
import * as store from './store.ts'

/** What one read found: the page, and when a redelivery falls due if nothing was there. */
export interface InboxRead {
  readonly page: InboxPage
  readonly agent: Admitted
  readonly at: Date
  readonly nextDueAt: Date | undefined
}

const redeliveryMs = limits.redeliverySeconds * 1000

export function readInbox(context: Context, caller: AgentCaller, limit: number): Promise<InboxRead> {
  return readAs(context, caller, async (db, agent, at) => {
    const { id: session, generation } = agent.session
    const view = { agentId: agent.agent_id, generation, scopes: agent.scopes }
    const notHeld = (row: MessageRow) => !context.offers.isHeld(session, row.id)
    const held = context.offers.heldBy(session)
    const dueBefore = new Date(at.getTime() - redeliveryMs).toISOString()

    const due = (await store.listDue(db, view, dueBefore, limit + held)).filter(notHeld)
    const kept = Math.min(due.length, context.offers.kept(session, limit))
    const fresh = (await store.listFresh(db, view, limit + 1 + held)).filter(notHeld)
    const newOnes = fresh.slice(0, limit - kept)
    const rows = [...newOnes, ...due.slice(0, limit - newOnes.length)]

    const page = {
      messages: rows.map((row) => offered(row, at)),
      has_more: fresh.length + due.length > rows.length,
      waiting: await store.countWaiting(db, agent.agent_id),
    }
    const earliest = rows.length > 0 ? null : await store.findEarliestOffer(db, view)
    const nextDueAt = earliest === null ? undefined : new Date(Date.parse(earliest) + redeliveryMs)
    return { page, agent, at, nextDueAt }
  })
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
 * Hold the messages of a page while their bytes travel. The returned function is called once with whether they were
 * flushed: then the offer is recorded, else the messages are free to be offered again.
 */
export function holdOffer(
  context: Context,
  { page, agent, at }: InboxRead,
): (flushed: boolean) => Promise<void> {
  const ids = page.messages.map((message) => message.id)
  context.offers.hold(agent.session.id, ids)
  context.offers.used(agent.session.id, ids.length)
  return async (flushed) => {
    try {
      const offer = { generation: agent.session.generation, at: at.toISOString() }
      if (flushed && ids.length > 0) await context.write((tx) => store.markOffered(tx, ids, offer))
    } finally {
      context.offers.release(agent.session.id, ids)
    }
  }
}
