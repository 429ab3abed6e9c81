/**
 * The inbox as a long-poll of up to 20 seconds.
 *
 * It reads, waits for a wake-up, a due redelivery or the end, and reads again. Every read checks
 * admission, so a wait ends with the reason as soon as the agent loses access.
 *
 * Spec §4.2 inbox; contract §6.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { InboxPage } from '../../sdk/contract/agent/messages.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { type NoticeWait, openNoticeWait } from '../delivery/notice-wait.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { type InboxRead, type PageSize, readInbox } from './actions.ts'

interface Poll {
  readonly caller: AgentCaller
  readonly query: { readonly wait_seconds?: number; readonly limit?: number }
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export async function longPoll(
  context: Context,
  { caller, query, request, reply }: Poll,
): Promise<InboxPage> {
  const size = { messages: query.limit ?? limits.pageDefault, bytes: limits.pageBytes }
  const seconds = query.wait_seconds ?? 0
  const read =
    seconds === 0
      ? await readInbox(context, caller, size)
      : await waitFor(context, { caller, size, seconds, request })
  onFlushed({ request, reply }, (flushed) => {
    read
      .settle(flushed)
      .catch((error: unknown) => request.log.error({ err: error }, 'failed to record an offer'))
  })
  return read.page
}

interface Wait {
  readonly caller: AgentCaller
  readonly size: PageSize
  readonly seconds: number
  readonly request: FastifyRequest
}

async function waitFor(context: Context, wait: Wait): Promise<InboxRead> {
  // Subscribes before the first read, so that a commit during that read is noticed.
  const noticeWait = openNoticeWait(context, wait.caller.agent_id, wait.request)
  let closeWait: (() => void) | undefined
  try {
    let read = await readCurrent(context, wait, noticeWait)
    if (read.page.messages.length > 0) return read
    closeWait = context.presence.openWait(read.agent, 'long_poll')
    const deadline = context.monotonicMs() + wait.seconds * 1000
    while (read.page.messages.length === 0 && !noticeWait.hasEnded()) {
      const left = deadline - context.monotonicMs()
      if (left <= 0) break
      await noticeWait.next(Math.min(left, untilDue(read, context.steady.now())))
      // A client that may have disconnected is not offered a page.
      if (!noticeWait.hasEnded()) read = await readCurrent(context, wait, noticeWait)
    }
    return read
  } finally {
    noticeWait.close()
    closeWait?.()
  }
}

/**
 * Reads again if a notice arrived during the read, because the page may be outdated. For example, no message
 * may be offered after the owner got the answer that a pair is disabled.
 */
async function readCurrent(
  context: Context,
  { caller, size }: Wait,
  noticeWait: NoticeWait,
): Promise<InboxRead> {
  let read = await readInbox(context, caller, size)
  while (noticeWait.hasNotice() && read.page.messages.length > 0) {
    read.drop()
    noticeWait.clearNotice()
    read = await readInbox(context, caller, size)
  }
  return read
}

const untilDue = ({ nextDueAt }: InboxRead, now: Date): number =>
  nextDueAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nextDueAt.getTime() - now.getTime())

/**
 * Reports once whether the bytes of the answer reached the operating system before the connection closed. An
 * answer that waits behind others of its connection has no socket yet, so the request's socket is watched.
 */
function onFlushed(
  { request, reply }: Pick<Poll, 'request' | 'reply'>,
  report: (flushed: boolean) => void,
): void {
  const { socket } = request.raw
  let open = true
  const settle = (flushed: boolean) => {
    if (open) report(flushed && reply.raw.statusCode === 200)
    open = false
    socket.off('close', onClose)
  }
  const onClose = () => settle(false)
  // If the client disconnected during the read, no more events are emitted.
  if (reply.raw.destroyed || socket.destroyed) {
    onClose()
    return
  }
  reply.raw.once('finish', () => settle(true))
  reply.raw.once('close', onClose)
  socket.once('close', onClose)
}
