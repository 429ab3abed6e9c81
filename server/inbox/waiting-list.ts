/**
 * The inbox list, which can wait for the first message.
 *
 * A caller that waits for one answer must not take other mail with it. So nothing is offered here, and every
 * message still reaches the agent's listener. The wait uses one of the session's slots. It ends at the first
 * notice for the agent, whatever the cause: a message, a changed task, a disabled pair.
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
  // Subscribes before the first read, so that a commit during that read is noticed.
  const noticeWait = openNoticeWait(context, caller.agent_id, request)
  let closeWait: (() => void) | undefined
  try {
    const { page, agent } = await listInbox(context, caller, range)
    if (page.messages.length > 0) return page
    closeWait = context.presence.openWait(agent, 'inbox_list')
    await noticeWait.next(seconds * 1000)
    return (await listInbox(context, caller, range)).page
  } finally {
    noticeWait.close()
    closeWait?.()
  }
}
