/** The parts of listening that decide: which transport, what a failure means, which offers were handed over, when to pause. */
import { describe, expect, test, vi } from 'vitest'
import type { SessionKeeper } from '../../../sdk/agent/session.ts'
import type { OfferedMessage } from '../../../sdk/contract/agent/messages.ts'
import { Attempt } from '../../../sdk/delivery/attempt.ts'
import { listenTransports, TransportChoice } from '../../../sdk/delivery/choice.ts'
import { AcknowledgedIds, SeenOffers } from '../../../sdk/delivery/seen-offers.ts'
import { StreamQueue } from '../../../sdk/delivery/stream-queue.ts'
import { Streaming } from '../../../sdk/delivery/streaming.ts'
import { judge } from '../../../sdk/delivery/verdict.ts'
import { type ErrorCode, errors } from '../../../sdk/index.ts'
import { parseBaseUrl } from '../../../sdk/transport/address.ts'
import { failureOf } from '../../../sdk/transport/answers.ts'
import { BridgeError, LocalError, localErrors } from '../../../sdk/transport/failures.ts'
import type { Transport } from '../../../sdk/transport/http.ts'
import { message } from '../people.ts'
import { movableMs } from './listening.ts'

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

  test('is the first one; after two failures in a row the next', () => {
    const { choice } = chosen()
    expect(choice.pick()).toBe('socket')
    choice.suspect('socket')
    expect(choice.pick()).toBe('socket')
    choice.suspect('socket')
    expect(choice.pick()).toBe('sse')
    choice.bar('sse')
    expect(choice.pick()).toBe('long-poll')
  })

  test('forgets a failure once the transport has proved itself', () => {
    const { choice } = chosen()
    for (let nth = 0; nth < 10; nth += 1) {
      choice.suspect('socket')
      choice.proved('socket')
    }
    expect(choice.pick()).toBe('socket')
  })

  test('returns after one minute, two, four, and never later than half an hour', () => {
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

  test('leaves a transport that came back at its first failure', () => {
    const { choice, wait } = chosen()
    choice.bar('socket')
    wait(60)
    choice.suspect('socket')
    expect(choice.pick()).toBe('sse')
  })

  test('is the last one when all have failed, and says so', () => {
    const { choice } = chosen(['sse', 'socket'])
    choice.bar('sse')
    expect(choice.isExhausted).toBe(false)
    choice.bar('socket')
    expect([choice.pick(), choice.isExhausted]).toEqual(['socket', true])
  })

  test('needs something to choose from', () => {
    expect(() => new TransportChoice([], () => 0)).toThrow(TypeError)
  })
})

describe('what a failure means', () => {
  const refusal = (code: ErrorCode) =>
    new BridgeError(asked, errors[code].status, { error: code, message: '', request_id: '' })
  const codes = Object.keys(errors) as ErrorCode[]
  const passing = codes
    .filter((code) => [429, 500, 503].includes(errors[code].status))
    .concat('request_replayed')

  test.each(codes)('%s: only what time mends is waited for, on every transport', (code) => {
    for (const transport of listenTransports) {
      for (const wasOpen of [false, true]) {
        const verdict = judge(refusal(code), transport, wasOpen)
        const reopens = wasOpen && (code === 'session_closed' || code === 'session_unknown')
        const isStreams = ['not_found', 'method_not_allowed', 'origin_mismatch'].includes(code)
        const expected = passing.includes(code) ? 'node' : 'final'
        if (transport === 'long-poll') expect(verdict).toBe(expected)
        else expect(verdict).toBe(reopens ? 'node' : isStreams ? 'barred' : expected)
      }
    }
  })

  test.each([
    ['ECONNREFUSED', 'node'],
    ['EHOSTUNREACH', 'node'],
    ['ENOTFOUND', 'node'],
    ['ECONNRESET', 'suspect'],
    ['HPE_INVALID_CONSTANT', 'barred'],
    ['EPERM', 'final'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'node'],
  ])('a connection that fails with %s before it opened: %s', (code, verdict) => {
    const failure = failureOf(Object.assign(new Error(code), { code }), asked, undefined)
    expect(judge(failure, 'socket', false)).toBe(verdict)
  })

  test('a proxy that answers in place of a node that is away is not the fault of the transport', () => {
    const gateway = new LocalError('unreachable', 'a proxy answered 502 in place of the node')
    expect(judge(gateway, 'socket', false)).toBe('node')
  })

  test('no error of this machine is waited for, and nothing that is no error of the SDK', () => {
    const waited = Object.keys(localErrors).filter(
      (code) => judge(new LocalError(code as keyof typeof localErrors, ''), 'long-poll', true) !== 'final',
    )
    expect(waited).toEqual(['unreachable', 'timeout', 'bad_response', 'redirected', 'certificate_refused'])
    expect(judge(new TypeError('a bug'), 'long-poll', true)).toBe('final')
  })
})

describe('offers that were handed over', () => {
  const offer = (sequence: number, attempt: number): OfferedMessage => {
    const one = message(sequence) as unknown as OfferedMessage
    return { ...one, delivery: { ...one.delivery, attempt } }
  }
  const nothing = new AcknowledgedIds()

  test('the same attempt is left out, a redelivery is not', () => {
    const handed = new SeenOffers(nothing)
    expect(handed.take([offer(1, 1), offer(2, 1)])).toHaveLength(2)
    expect(handed.take([offer(1, 1), offer(2, 2), offer(3, 1)])).toEqual([offer(2, 2), offer(3, 1)])
    expect(handed.take([offer(1, 2)])).toHaveLength(1)
  })

  test('a lower attempt, of a node that was restored, is handed over', () => {
    const handed = new SeenOffers(nothing)
    handed.take([offer(1, 5)])
    expect(handed.take([offer(1, 3)])).toHaveLength(1)
    expect(handed.take([offer(1, 4), offer(1, 5), offer(1, 5)])).toHaveLength(2)
  })

  test('what was acknowledged here is left out whatever its attempt', () => {
    const acknowledged = new AcknowledgedIds()
    const handed = new SeenOffers(acknowledged)
    handed.take([offer(1, 1)])
    acknowledged.add([offer(1, 1).id])
    expect(handed.take([offer(1, 2), offer(2, 1)])).toEqual([offer(2, 1)])
  })

  test('as many are remembered as an inbox can hold, the oldest are forgotten', () => {
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

test('a socket is opened below the path prefix of the node, by TLS where the node is', () => {
  const urlFor = (baseUrl: string) => {
    const address = parseBaseUrl(baseUrl)
    return new Streaming({ address } as Transport, {} as SessionKeeper).socketUrl
  }
  expect(urlFor('https://node.example/bridge/')).toBe('wss://node.example/bridge/api/v1/socket')
  expect(urlFor('http://127.0.0.1:8484')).toBe('ws://127.0.0.1:8484/api/v1/socket')
})

describe('a line', () => {
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
    made.carriedBy({ close: tell('close'), pause: tell('pause'), resume: tell('resume') })
    made.opened()
    return {
      made,
      flow,
      heard: made[Symbol.asyncIterator](),
      attempt,
      [Symbol.dispose]: () => attempt.close(),
    }
  }

  test('slows its connection down while nobody reads, and speeds it up again', async () => {
    using reading = line()
    const { made, flow, heard } = reading
    for (let nth = 1; nth <= 7; nth += 1) made.hear('messages', page(nth))
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

  test('hands out what had arrived before it broke, then throws', async () => {
    using reading = line()
    const { made, heard, flow } = reading
    made.hear('messages', page(1))
    made.fail(new LocalError('unreachable', 'it broke'))
    made.hear('messages', page(2))
    expect(flow).toEqual(['close'])
    expect((await heard.next()).value).toBe('open')
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }], waiting: null })
    await expect(heard.next()).rejects.toThrow('it broke')
  })

  test('hands out nothing more once the node refuses the session', async () => {
    using reading = line()
    const { made, heard } = reading
    made.hear('messages', page(1))
    made.fail(new BridgeError(asked, 409, { error: 'session_fenced', message: '', request_id: '' }))
    await expect(heard.next()).rejects.toMatchObject({ code: 'session_fenced' })
  })

  test('tells an empty page after twenty seconds without messages, counted on from the line before', async () => {
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
    made.hear('messages', page(1))
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }] })
  })

  test('is not called silent by a process that was held up, before what arrived meanwhile was read', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const monotonicMs = movableMs()
      using reading = line({ sinceMs: performance.now() }, monotonicMs)
      const { made, flow } = reading
      monotonicMs.advance(60_000)
      vi.advanceTimersByTime(1000)
      expect(flow).toEqual([])
      made.heard()
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

  test('leaves alone what a newer node tells, and what is of another shape', async () => {
    using reading = line()
    const { made, heard } = reading
    made.hear('weather', { messages: [message(9)] })
    made.hear('messages', { messages: 'none' })
    made.hear('receipts', {})
    made.hear('messages', page(1))
    await heard.next()
    expect((await heard.next()).value).toMatchObject({ messages: [{ sequence: 1 }] })
  })
})
