/**
 * The inbox as server-sent events. The node ends each connection after 20 seconds, and the listener opens the
 * next.
 *
 * - Each connection is signed with a new nonce. `eventsource` calls our fetch for it, and the listener
 *   reconnects, not `eventsource`.
 * - Our fetch reads the error body. `eventsource` reports only a status, by which `clock_skew` would look
 *   like `credential_revoked`.
 * - The first bytes must arrive within 10 seconds. A proxy that buffers the whole stream makes it useless.
 *
 * Spec §6; contract §6.
 */
import type { FetchLikeResponse, ReaderLike } from 'eventsource'
import { streams } from '../contract/agent/streams.ts'
import { errors } from '../contract/errors.ts'
import { failureOf, parseObject, refusalOf } from '../transport/answers.ts'
import { LocalError } from '../transport/failures.ts'
import type { FetchResponse } from '../transport/fetch.ts'
import type { Attempt } from './attempt.ts'
import type { Streaming } from './signed-stream.ts'
import { readStream, type StreamEvent, type StreamQueue } from './stream-queue.ts'

const request = { method: streams.events.method, path: streams.events.path }
/** Limit of one event in bytes, larger than any event that a node sends. */
const longestEvent = 16 * 1024 * 1024
/** "The server ends the stream after 20 s": a stream that ends before this age was cut off. */
const shortestLifeMs = 10_000

export const eventStream = (
  streaming: Streaming,
  attempt: Attempt,
): AsyncGenerator<StreamEvent, void, undefined> =>
  readStream(attempt, request, (queue) => connect(streaming, queue, attempt))

async function connect(streaming: Streaming, queue: StreamQueue, attempt: Attempt): Promise<void> {
  const { EventSource } = await import('eventsource')
  let requestId = ''
  const source = new EventSource(`http://node${request.path}`, {
    maxBufferSize: longestEvent,
    fetch: async (url, { signal }) => {
      try {
        const response = await streaming.open({ signal: signal as AbortSignal })
        requestId = response.headers.get('x-request-id') ?? ''
        return answerOf(String(url), response, queue, attempt)
      } catch (error) {
        queue.fail(error)
        throw error
      }
    },
  })
  queue.useConnection({ close: () => source.close() })
  for (const type of ['messages', 'receipts', 'heartbeat']) {
    source.addEventListener(type, ({ data }) => {
      const value = parseObject(String(data))
      if (value === undefined) queue.fail(unusable('an event is not a JSON object'))
      else queue.accept(type, value)
    })
  }
  source.addEventListener('session', ({ data }) => {
    queue.fail(refused(parseObject(String(data))?.code, requestId))
  })
  source.addEventListener('error', ({ message }) => queue.fail(broken(message ?? 'the connection ended')))
}

function answerOf(
  url: string,
  response: FetchResponse,
  queue: StreamQueue,
  attempt: Attempt,
): FetchLikeResponse {
  const { status, headers, body } = response
  if (!/^text\/event-stream\b/i.test(headers.get('content-type') ?? ''))
    throw unusable('the answer is not an event stream')
  if (body === undefined || body === null) throw unusable('the given fetch returns no readable body')
  return { url, status, headers, redirected: false, body: watched(body, queue, attempt) }
}

/** Passes the bytes on as fast as they are read, and reports each chunk and the end to the queue. */
function watched(
  body: AsyncIterable<Uint8Array>,
  queue: StreamQueue,
  attempt: Attempt,
): { getReader(): ReaderLike } {
  const chunks = body[Symbol.asyncIterator]()
  return {
    getReader: () => ({
      read: async () => {
        await queue.room()
        const next = await chunks.next().catch((error: unknown) => {
          const failure = failureOf(error, request, undefined)
          queue.fail(failure)
          throw failure
        })
        if (next.done === true) ended(queue, attempt)
        else if (attempt.openedMs === undefined) queue.opened()
        else queue.markAlive()
        return next.done === true
          ? ({ done: true, value: undefined } as const)
          : ({ done: false, value: next.value } as const)
      },
      cancel: async () => void (await chunks.return?.()),
    }),
  }
}

function ended(queue: StreamQueue, attempt: Attempt): void {
  if (attempt.livedMs < shortestLifeMs) queue.fail(broken('the node or a proxy ended it early'))
  else queue.end()
}

/** Error for a `session` event, which carries only a code. */
function refused(code: unknown, requestId: string): Error {
  if (typeof code !== 'string') return broken('the node ended it without a reason')
  const message = Object.hasOwn(errors, code)
    ? errors[code as keyof typeof errors].meaning
    : 'the node ended the stream'
  return refusalOf(request, { error: code, message, request_id: requestId })
}

const unusable = (why: string): LocalError =>
  new LocalError('bad_response', `${request.method} ${request.path}: ${why}`)

const broken = (how: string): LocalError =>
  new LocalError('unreachable', `${request.method} ${request.path}: the stream broke: ${how}`, { cause: how })
