/**
 * The decisions of listening: the choice of transport, the meaning of a failure, the offers already
 * delivered, and pauses.
 */
import { describe, expect, test, vi } from 'vitest'
import type { SessionKeeper } from '../../../sdk/agent/session.ts'
import type { OfferedMessage } from '../../../sdk/contract/agent/messages.ts'
import { Attempt } from '../../../sdk/delivery/attempt.ts'
import { judge } from '../../../sdk/delivery/failure-verdict.ts'
import { AcknowledgedIds, SeenOffers } from '../../../sdk/delivery/seen-offers.ts'
import { Streaming } from '../../../sdk/delivery/signed-stream.ts'
import { StreamQueue } from '../../../sdk/delivery/stream-queue.ts'
import { listenTransports, TransportChoice } from '../../../sdk/delivery/transport-choice.ts'
import { type ErrorCode, errors } from '../../../sdk/index.ts'
import { parseBaseUrl } from '../../../sdk/transport/address.ts'
import { failureOf } from '../../../sdk/transport/answers.ts'
import { BridgeError, LocalError, localErrors } from '../../../sdk/transport/failures.ts'
import type { Transport } from '../../../sdk/transport/http.ts'
import { message } from '../../support/bridges.ts'
import { movableMs } from '../../support/sdk-listener.ts'

const asked = { method: 'GET', path: '/api/v1/socket' }

describe('the choice of a transport', () => {
  const chosen = (order = listenTransports as readonly ('socket' | 'sse' | 'long-poll')[]) => {
    let now = 0
    const choice = new TransportChoice(order, () => now)
    return {
      choice,
      wait: (seconds: number) => {
        now += seconds * 1000
      },
    }
  }

  test('starts with the first one and moves to the next after two failures in a row', () => {
    const { choice } = chosen()
    expect(choice.pick()).toBe('socket')
    choice.suspect('socket')
    expect(choice.pick()).toBe('socket')
    choice.suspect('socket')
    expect(choice.pick()).toBe('sse')
    choice.bar('sse')
    expect(choice.pick()).toBe('long-poll')
  })

  test('forgets a failure once the transport has worked', () => {
    const { choice } = chosen()
    for (let nth = 0; nth < 10; nth += 1) {
      choice.suspect('socket')
      choice.proved('socket')
    }
    expect(choice.pick()).toBe('socket')
  })

  test('returns after one minute, two, four, and at most half an hour', () => {
    const { choice, wait } = chosen()
    for (const minutes of [1, 2, 4, 8, 16, 30, 30, 30]) {
      choice.bar('socket')
      wait(minutes * 60 - 1)
      expect(choice.pick()).toBe('sse')
      wait(1)
      expect(choice.pick()).toBe('socket')
    }
    choice.proved('socket')
    choice.bar('socket')
    wait(60)
    expect(choice.pick()).toBe('socket')
  })

  test('leaves a retried transport at its first failure', () => {
    const { choice, wait } = chosen()
    choice.bar('socket')
    wait(60)
    choice.suspect('socket')
    expect(choice.pick()).toBe('sse')
  })

  test('is the last one if all have failed, and reports that', () => {
    const { choice } = chosen(['sse', 'socket'])
    choice.bar('sse')
    expect(choice.isExhausted).toBe(false)
    choice.bar('socket')
    expect([choice.pick(), choice.isExhausted]).toEqual(['socket', true])
  })

  test('requires at least one transport', () => {
    expect(() => new TransportChoice([], () => 0)).toThrow(TypeError)
  })
})

describe('the meaning of a failure', () => {
  const refusal = (code: ErrorCode) =>
    new BridgeError(asked, errors[code].status, { error: code, message: '', request_id: '' })
  const codes = Object.keys(errors) as ErrorCode[]
  const passing = codes
    .filter((code) => [429, 500, 503].includes(errors[code].status))
    .concat('request_replayed')

  test.each(codes)(
    '%s: the client waits only for failures that time resolves, on every transport',
    (code) => {
      for (const transport of listenTransports) {
        for (const wasOpen of [false, true]) {
          const verdict = judge(refusal(code), transport, wasOpen)
          const reopens = wasOpen && (code === 'session_closed' || code === 'session_unknown')
          const isStreams = ['not_found', 'method_not_allowed', 'origin_mismatch'].includes(code)
          const mayBeLate = code === 'unauthenticated' && transport === 'socket' && !wasOpen
          const expected = passing.includes(code) ? 'node' : mayBeLate ? 'suspect' : 'final'
          if (transport === 'long-poll') expect(verdict).toBe(expected)
          else expect(verdict).toBe(reopens ? 'node' : isStreams ? 'barred' : expected)
        }
      }
    },
  )

  test.each([
    ['ECONNREFUSED', 'node'],
    ['EHOSTUNREACH', 'node'],
    ['ENOTFOUND', 'node'],
    ['ECONNRESET', 'suspect'],
    ['HPE_INVALID_CONSTANT', 'barred'],
    ['EPERM', 'final'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'node'],
  ])('a connection that fails with %s before it opened means: %s', (code, verdict) => {
    const failure = failureOf(Object.assign(new Error(code), { code }), asked, undefined)
    expect(judge(failure, 'socket', false)).toBe(verdict)
  })

  test("a proxy's answer in place of an unreachable node is no failure of the transport", () => {
    const gateway = new LocalError('unreachable', 'a proxy answered 502 in place of the node')
    expect(judge(gateway, 'socket', false)).toBe('node')
  })

  test('local errors and errors from outside the SDK are not retried', () => {
    const waited = Object.keys(localErrors).filter(
      (code) => judge(new LocalError(code as keyof typeof localErrors, ''), 'long-poll', true) !== 'final',
    )
    expect(waited).toEqual(['unreachable', 'timeout', 'bad_response', 'redirected', 'certificate_refused'])
    expect(judge(new TypeError('a bug'), 'long-poll', true)).toBe('final')
  })
})

describe('the record of delivered offers', () => {
  const offer = (sequence: number, attempt: number): OfferedMessage => {
    const one = message(sequence) as unknown as OfferedMessage
    return { ...one, delivery: { ...one.delivery, attempt } }
  }
  const nothing = new AcknowledgedIds()

  test('skips the same attempt, but not a redelivery', () => {
    const handed = new SeenOffers(nothing)
    expect(handed.take([offer(1, 1), offer(2, 1)])).toHaveLength(2)
    expect(handed.take([offer(1, 1), offer(2, 2), offer(3, 1)])).toEqual([offer(2, 2), offer(3, 1)])
    expect(handed.take([offer(1, 2)])).toHaveLength(1)
  })

  test('delivers a lower attempt of a node that was restored', () => {
    const handed = new SeenOffers(nothing)
    handed.take([offer(1, 5)])
    expect(handed.take([offer(1, 3)])).toHaveLength(1)
    expect(handed.take([offer(1, 4), offer(1, 5), offer(1, 5)])).toHaveLength(2)
  })

  test('skips any attempt of a message that was acknowledged here', () => {
    const acknowledged = new AcknowledgedIds()
    const reported: string[] = []
    const handed = new SeenOffers(acknowledged, (ids) => reported.push(...ids))
    handed.take([offer(1, 1)])
    acknowledged.add([offer(1, 1).id])
    expect(reported).toEqual([])
    expect(handed.take([offer(1, 2), offer(2, 1)])).toEqual([offer(2, 1)])
    expect(reported).toEqual([offer(1, 1).id])
  })

  test('remembers as many as an inbox can contain, and forgets the oldest', () => {
    const handed = new SeenOffers(nothing)
    const acknowledged = new AcknowledgedIds()
    for (let sequence = 1; sequence <= 10_001; sequence += 1) {
      handed.take([offer(sequence, 1)])
      acknowledged.add([offer(sequence, 1).id])
    }
    expect(handed.take([offer(1, 1), offer(2, 1), offer(10_001, 1)])).toHaveLength(2)
    expect([acknowledged.has(offer(1, 1).id), acknowledged.has(offer(2, 1).id)]).toEqual([false, true])
  })
})

test('a socket is opened below the path prefix of the node, with TLS if the node uses it', () => {
  const urlFor = (baseUrl: string) => {
    const address = parseBaseUrl(baseUrl)
    return new Streaming({ address } as Transport, {} as SessionKeeper).socketUrl
  }
  expect(urlFor('https://node.example/bridge/')).toBe('wss://node.example/bridge/api/v1/socket')
  expect(urlFor('http://127.0.0.1:8484')).toBe('ws://127.0.0.1:8484/api/v1/socket')
})

describe("a connection's queue", () => {
  const page = (sequence: number) => ({ messages: [message(sequence)] })

  function line(quiet = { sinceMs: performance.now() }, monotonicMs = () => performance.now()) {
    const attempt = new Attempt({
      clock: () => new Date(monotonicMs()),
      monotonicMs,
      signal: undefined,
      leftMs: () => Number.POSITIVE_INFINITY,
      onReceipts: undefined,
      quiet,
    })
    const flow: string[] = []
    const made = new StreamQueue(attempt, asked)
    const tell = (what: string) => () => void flow.push(what)
    made.useConnection({ close: tell('close'), pause: tell('pause'), resume: tell('resume') })
    made.opened()
    return {
      made,
      flow,
      heard: made[Symbol.asyncIterator](),
      attempt,
      [Symbol.dispose]: () => attempt.close(),
    }
  }

  test('slows its connection while its reader is busy, and resumes it', async () => {
    using reading = line()
    const { made, flow, heard } = reading
    for (let nth = 1; nth <= 7; nth += 1) made.accept('messages', page(nth))
    expect(flow).toEqual(['pause'])
    let hasRoom = false
    const room = made.room().then(() => {
      hasRoom = true
    })
    for (let nth = 0; nth < 3; nth += 1) await heard.next()
    expect([flow, hasRoom]).toEqual([['pause'], false])
    await heard.next()
    await room
    expect(flow).toEqual(['pause', 'resume'])
  })

  test('yields the messages that arrived before it broke, then throws', async () => {
    using reading = line()
    const { made, heard, flow } = reading
    made.accept('messages', page(1))
    made.fail(new LocalError('unreachable', 'it broke'))
    made.accept('messages', page(2))
    expect(flow).toEqual(['close'])
    expect((await heard.next()).value).toBe('open')
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }], waiting: null })
    await expect(heard.next()).rejects.toThrow('it broke')
  })

  test('yields nothing more once the node refuses the session', async () => {
    using reading = line()
    const { made, heard } = reading
    made.accept('messages', page(1))
    made.fail(new BridgeError(asked, 409, { error: 'session_fenced', message: '', request_id: '' }))
    await expect(heard.next()).rejects.toMatchObject({ code: 'session_fenced' })
  })

  test('yields an empty page after twenty seconds without messages, counted from the previous connection on', async () => {
    const started = performance.now()
    const quiet = { sinceMs: started - 12_000 }
    const monotonicMs = movableMs()
    using reading = line(quiet, monotonicMs)
    const { made, heard } = reading
    await heard.next()
    const next = heard.next()
    monotonicMs.advance(9000)
    expect((await next).value).toEqual({ messages: [], has_more: false, waiting: null })
    expect(quiet.sinceMs).toBeGreaterThan(started)
    made.accept('messages', page(1))
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }] })
  })

  test('does not report silence after a blocked process before it has read the data that arrived', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const monotonicMs = movableMs()
      using reading = line({ sinceMs: performance.now() }, monotonicMs)
      const { made, flow } = reading
      monotonicMs.advance(60_000)
      vi.advanceTimersByTime(1000)
      expect(flow).toEqual([])
      made.markAlive()
      vi.advanceTimersByTime(1000)
      expect(flow).toEqual([])
      for (let nth = 0; nth < 26; nth += 1) {
        monotonicMs.advance(1000)
        vi.advanceTimersByTime(1000)
      }
      expect(flow).toEqual(['close'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('ignores events of a newer node, and data of another shape', async () => {
    using reading = line()
    const { made, heard } = reading
    made.accept('weather', { messages: [message(9)] })
    made.accept('messages', { messages: 'none' })
    made.accept('receipts', {})
    made.accept('messages', page(1))
    await heard.next()
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }] })
  })
})
