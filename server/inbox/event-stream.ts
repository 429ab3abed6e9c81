/**
 * The inbox as server-sent events: `messages`, `receipts`, `heartbeat`, and `session` before a forced end.
 *
 * "The client reconnects every 20 seconds": the server ends the stream after 20 s, and each reconnect carries
 * a new proof.
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
  const onDisconnect = () => {
    stream.end('finished')
    stream.closed()
  }
  // With keep-alive the connection outlives the stream, so the listeners of this stream are removed.
  const stopWatching = onLeaving(request, onDisconnect)
  reply.raw.once('close', () => {
    stopWatching()
    stream.closed()
  })
  if (hasLeft(request)) onDisconnect()
}

/** Time within which an ended stream must be flushed before its connection is destroyed. */
const finishMs = 10_000
const forcedMs = 1000

function outletOf(reply: FastifyReply): Outlet {
  reply.hijack()
  const response = reply.raw
  const { socket } = reply.request.raw
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    // Tells nginx not to buffer, which would delay messages.
    'x-accel-buffering': 'no',
  })
  // `close` follows every connection error and ends the stream.
  response.on('error', () => {})
  response.write(`retry: ${limits.streamRetryMs}\n\n`)
  return {
    get unsentBytes() {
      return response.writableLength
    },
    send({ type, data }: StreamEvent, flushed) {
      response.write(frame(type, data), (error) => flushed(!error))
    },
    end(reason: StreamEnd) {
      if (reason === 'slow') return void response.destroy()
      if (reason instanceof ApiError) response.end(frame('session', { code: reason.code }))
      else response.end(() => reason === 'restart' && socket.destroySoon())
      const timer = setTimeout(() => response.destroy(), reason === 'finished' ? finishMs : forcedMs)
      timer.unref()
      response.once('close', () => clearTimeout(timer))
    },
  }
}

/** JSON contains no raw line breaks, so it fits in one data line. */
const frame = (event: string, data: object): string => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
