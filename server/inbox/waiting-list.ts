/**
 * The list of the inbox, which can wait for its first message.
 *
 * A wait for one answer among much mail must not take the mail: nothing is offered here, so every message still reaches
 * whoever listens. The wait takes one of the session's places, and ends at the first notice for the agent, whatever that
 * tells of: a message, a task that changed, a pair that was disabled.
 *
 * Contract §6, §12 "`ask`", §13.
 */
import type { FastifyRequest } from 'fastify'
import type { InboxListQuery, Unacknowledged } from '../../sdk/contract/agent/messages.ts'
import type { Context } from '../context.ts'
import { openNoticeWait } from '../delivery/notice-wait.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { listInbox } from './actions.ts'

interface Listing {
  readonly caller: AgentCaller
  readonly query: InboxListQuery
  readonly request: FastifyRequest
}

export async function waitingList(
  context: Context,
  { caller, query, request }: Listing,
): Promise<Unacknowledged> {
  const { wait_seconds: seconds = 0, ...range } = query
  if (seconds === 0) return (await listInbox(context, caller, range)).page
  // Before the first read: what is committed together with it rings.
  const bell = openNoticeWait(context, caller.agent_id, request)
  let closeWait: (() => void) | undefined
  try {
    const { page, agent } = await listInbox(context, caller, range)
    if (page.messages.length > 0) return page
    closeWait = context.presence.openWait(agent.agent_id, agent.session.id, 'inbox_list')
    await bell.next(seconds * 1000)
    return (await listInbox(context, caller, range)).page
  } finally {
    bell.close()
    closeWait?.()
  }
}
