/**
 * The inbox as server-sent events: `messages`, `receipts`, `heartbeat`, and `session` before a forced end.
 *
 * "The client reconnects every 20 seconds": the server ends the stream then, and each reconnect carries a fresh proof.
 *
 * Spec §6; contract §6.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { hasLeft, onLeaving } from '../http/client-left.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { InboxStream, type Outlet, type StreamEnd, type StreamEvent } from './stream.ts'

interface EventStreamCall {
  readonly caller: AgentCaller
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export async function openEventStream(
  context: Context,
  { caller, request, reply }: EventStreamCall,
): Promise<void> {
  const stream = await InboxStream.open(context, caller, {
    seconds: limits.streamSeconds,
    transport: 'event_stream',
    outlet: () => outletOf(reply),
  })
  const gone = () => {
    stream.end('over')
    stream.closed()
  }
  // The connection outlives the stream where the client keeps it for the next one, and carries none of this one over.
  const stay = onLeaving(request, gone)
  reply.raw.once('close', () => {
    stay()
    stream.closed()
  })
  if (hasLeft(request)) gone()
}

/** How long an ended stream may take to be flushed before its connection is cut. */
const overMs = 10_000
const forcedMs = 1000

function outletOf(reply: FastifyReply): Outlet {
  reply.hijack()
  const response = reply.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    // A proxy that buffers would hold messages back.
    'x-accel-buffering': 'no',
  })
  // An error of the connection is followed by `close`, which is what ends the stream.
  response.on('error', () => {})
  response.write(`retry: ${limits.streamRetryMs}\n\n`)
  return {
    get unsentBytes() {
      return response.writableLength
    },
    send({ type, data }: StreamEvent, flushed) {
      response.write(frame(type, data), (error) => flushed(!error))
    },
    end(why: StreamEnd) {
      if (why === 'slow') return void response.destroy()
      if (why instanceof ApiError) response.end(frame('session', { code: why.code }))
      else response.end()
      const timer = setTimeout(() => response.destroy(), why === 'over' ? overMs : forcedMs)
      timer.unref()
      response.once('close', () => clearTimeout(timer))
    },
  }
}

/** JSON has no line breaks, so one data line holds it. */
const frame = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
