/**
 * The inbox as server-sent events. One connection: the node ends it after twenty seconds, and the listener opens the next.
 *
 * - Each has a nonce and a proof of its own, since `eventsource` asks our fetch, and reconnecting is the listener's.
 * - The error body is read inside that fetch: `eventsource` tells a status and no reason, and `clock_skew` must not look
 *   like `credential_revoked`.
 * - Its first bytes must come soon: a proxy that holds a stream back until it is full or over makes it useless.
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
import { overStream, type StreamEvent, type StreamQueue } from './stream-queue.ts'
import type { Streaming } from './streaming.ts'

const asked = { method: streams.events.method, path: streams.events.path }
/** More than the longest event that a node sends. */
const longestEvent = 16 * 1024 * 1024
/** "The server ends the stream after 20 s": one that ends by itself long before was cut. */
const shortestLifeMs = 10_000

export const eventStream = (
  streaming: Streaming,
  attempt: Attempt,
): AsyncGenerator<StreamEvent, void, undefined> =>
  overStream(attempt, asked, (line) => connect(streaming, line, attempt))

async function connect(streaming: Streaming, line: StreamQueue, attempt: Attempt): Promise<void> {
  const { EventSource } = await import('eventsource')
  let requestId = ''
  const source = new EventSource(`http://node${asked.path}`, {
    maxBufferSize: longestEvent,
    fetch: async (url, { signal }) => {
      try {
        const response = await streaming.open({ signal: signal as AbortSignal })
        requestId = response.headers.get('x-request-id') ?? ''
        return answerOf(String(url), response, line, attempt)
      } catch (error) {
        line.fail(error)
        throw error
      }
    },
  })
  line.carriedBy({ close: () => source.close() })
  for (const type of ['messages', 'receipts', 'heartbeat']) {
    source.addEventListener(type, ({ data }) => {
      const value = parseObject(String(data))
      if (value === undefined) line.fail(unusable('an event is not a JSON object'))
      else line.hear(type, value)
    })
  }
  source.addEventListener('session', ({ data }) => {
    line.fail(refused(parseObject(String(data))?.code, requestId))
  })
  source.addEventListener('error', ({ message }) => line.fail(broken(message ?? 'it ended')))
}

function answerOf(
  url: string,
  response: FetchResponse,
  line: StreamQueue,
  attempt: Attempt,
): FetchLikeResponse {
  const { status, headers, body } = response
  if (!/^text\/event-stream\b/i.test(headers.get('content-type') ?? ''))
    throw unusable('this is no event stream')
  if (body === undefined || body === null)
    throw unusable('the fetch that was handed in gives no body to read')
  return { url, status, headers, redirected: false, body: watched(body, line, attempt) }
}

/** The same bytes, no faster than they are read, telling the line of each arrival and of the end. */
function watched(
  body: AsyncIterable<Uint8Array>,
  line: StreamQueue,
  attempt: Attempt,
): { getReader(): ReaderLike } {
  const chunks = body[Symbol.asyncIterator]()
  return {
    getReader: () => ({
      read: async () => {
        await line.room()
        const next = await chunks.next().catch((error: unknown) => {
          const failure = failureOf(error, asked, undefined)
          line.fail(failure)
          throw failure
        })
        if (next.done === true) ended(line, attempt)
        else if (attempt.openedMs === undefined) line.opened()
        else line.heard()
        return next.done === true
          ? ({ done: true, value: undefined } as const)
          : ({ done: false, value: next.value } as const)
      },
      cancel: async () => void (await chunks.return?.()),
    }),
  }
}

function ended(line: StreamQueue, attempt: Attempt): void {
  if (attempt.livedMs < shortestLifeMs) line.fail(broken('it ended early'))
  else line.end()
}

/** The event tells the code alone. */
function refused(code: unknown, requestId: string): Error {
  if (typeof code !== 'string') return broken('it was ended without a reason')
  const message = Object.hasOwn(errors, code)
    ? errors[code as keyof typeof errors].meaning
    : 'the node ended the stream'
  return refusalOf(asked, { error: code, message, request_id: requestId })
}

const unusable = (why: string): LocalError =>
  new LocalError('bad_response', `${asked.method} ${asked.path}: ${why}`)

const broken = (how: string): LocalError =>
  new LocalError('unreachable', `${asked.method} ${asked.path}: the stream broke: ${how}`, { cause: how })
