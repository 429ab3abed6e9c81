/**
 * The inbox as a long-poll of up to 20 seconds.
 *
 * Three phases: read; wait for a wake-up, a redelivery that falls due, or the end; read again. Every read asks for
 * admission again, so a wait ends with its reason as soon as the agent may not listen any more.
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
      .catch((error: unknown) => request.log.error({ err: error }, 'an offer was not recorded'))
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
  // Before the first read: what is committed together with it rings.
  const bell = openNoticeWait(context, wait.caller.agent_id, wait.request)
  let closeWait: (() => void) | undefined
  try {
    let read = await readUnrung(context, wait, bell)
    if (read.page.messages.length > 0) return read
    closeWait = context.presence.openWait(read.agent.agent_id, read.agent.session.id, 'long_poll')
    const deadline = context.monotonicMs() + wait.seconds * 1000
    while (read.page.messages.length === 0 && !bell.hasEnded()) {
      const left = deadline - context.monotonicMs()
      if (left <= 0) break
      await bell.next(Math.min(left, untilDue(read, context.steady.now())))
      // A page is no offer to a client that may be gone.
      if (!bell.hasEnded()) read = await readUnrung(context, wait, bell)
    }
    return read
  } finally {
    bell.close()
    closeWait?.()
  }
}

/** What was read before a notice may be over: nothing leaves that an answer to the owner already denies. */
async function readUnrung(context: Context, { caller, size }: Wait, bell: NoticeWait): Promise<InboxRead> {
  let read = await readInbox(context, caller, size)
  while (bell.hasNotice() && read.page.messages.length > 0) {
    read.drop()
    bell.clearNotice()
    read = await readInbox(context, caller, size)
  }
  return read
}

const untilDue = ({ nextDueAt }: InboxRead, now: Date): number =>
  nextDueAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, nextDueAt.getTime() - now.getTime())

/**
 * Tells once whether the answer's bytes reached the operating system before the connection closed. An answer that
 * stands behind others of its connection has no socket yet, so the request's is watched.
 */
function onFlushed(
  { request, reply }: Pick<Poll, 'request' | 'reply'>,
  told: (flushed: boolean) => void,
): void {
  const { socket } = request.raw
  let open = true
  const tell = (flushed: boolean) => {
    if (open) told(flushed && reply.raw.statusCode === 200)
    open = false
    socket.off('close', gone)
  }
  const gone = () => tell(false)
  // The client may have gone while the inbox was read: then no event comes any more.
  if (reply.raw.destroyed || socket.destroyed) {
    gone()
    return
  }
  reply.raw.once('finish', () => tell(true))
  reply.raw.once('close', gone)
  socket.once('close', gone)
}
