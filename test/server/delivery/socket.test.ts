/**
 * The socket's protocol: the upgrade, authentication, allowed frames, and how it ends.
 *
 * Promise P17, threat T30; contract §6.
 */
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { closeCodes } from '../../../sdk/contract/agent/events.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { testClock } from '../../support/clock.ts'
import { RawConnection } from '../../support/raw-client.ts'
import { authenticate, openEvents, openSocket } from '../../support/streams.ts'
import { connectionOf, until } from './listeners.ts'

let bridge: TestBridge
let names = 0

/**
 * Returns the answer to an upgrade whose client keeps its side open; the node must close the connection
 * itself.
 */
async function ask(bytes: string) {
  const connection = new RawConnection(bridge.url).send(bytes)
  const [reply] = await connection.repliesOrEnd()
  await connection.released()
  if (reply === undefined) throw new Error('the node closed the connection without an answer')
  return reply
}

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const fresh = () => {
  names += 1
  return bridge.agent(`agent ${names}`)
}

const upgrade = (target: string, extra: readonly string[] = []) =>
  [
    `GET ${target} HTTP/1.1`,
    'host: bridge',
    'connection: upgrade, close',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    ...extra,
    '',
    '',
  ].join('\r\n')

describe('the upgrade', () => {
  const refused: readonly [string, string, number, string][] = [
    ['of another path', upgrade('/api/v1/other'), 404, 'not_found'],
    ['of the event stream', upgrade('/api/v1/events'), 401, 'unauthenticated'],
    ['of a path below it', upgrade('/api/v1/socket/'), 404, 'not_found'],
    ['with credentials in the URL', upgrade('/api/v1/socket?authorization=AgentKey'), 404, 'not_found'],
    ['of an absolute target', upgrade('http://bridge/api/v1/socket'), 404, 'not_found'],
    [
      'by a foreign page',
      upgrade('/api/v1/socket', ['origin: https://evil.example']),
      403,
      'origin_mismatch',
    ],
    ['by a page without an origin', upgrade('/api/v1/socket', ['origin: null']), 403, 'origin_mismatch'],
    [
      "by a foreign page with the owner's cookie",
      upgrade('/api/v1/socket', ['origin: https://evil.example', 'cookie: bridge_owner_dev=x']),
      403,
      'origin_mismatch',
    ],
  ]
  test.concurrent.each(refused)(
    '%s is refused with an answer and a closed connection',
    async (_what, bytes, status, code) => {
      const answer = await ask(bytes)
      expect(answer.status).toBe(status)
      const body = JSON.parse(answer.body) as { error: string; request_id: string }
      expect(body.error).toBe(code)
      expect(answer.headers).toMatchObject({
        'x-request-id': body.request_id,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
    },
  )

  test.concurrent.each(['', '?', '*'])('of %j, which is no path, is refused', async (target) => {
    const answer = await ask(upgrade(target))
    expect([400, 404]).toContain(answer.status)
  })

  test('with another method is refused', async () => {
    const answer = await ask(upgrade('/api/v1/socket').replace('GET', 'PUT'))
    expect(answer.status).toBe(405)
    expect(answer.headers.allow).toBe('GET')
  })

  test('without the upgrade headers is refused with that reason', async () => {
    const bytes = 'GET /api/v1/socket HTTP/1.1\r\nhost: bridge\r\nconnection: close\r\n\r\n'
    const answer = await ask(bytes)
    expect(answer.status).toBe(422)
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'invalid_request' })
  })

  test("from the portal's own page is accepted, and compression is not", async () => {
    const socket = new WebSocket(`${bridge.url.replace('http', 'ws')}/api/v1/socket`, {
      origin: bridge.url,
      perMessageDeflate: true,
    })
    const [response] = (await once(socket, 'upgrade')) as [{ headers: Record<string, string> }]
    expect(response.headers['sec-websocket-extensions']).toBeUndefined()
    expect(response.headers['x-request-id']).toMatch(/^[A-Za-z0-9_-]{12}$/)
    socket.on('error', () => {})
    socket.terminate()
  })
})

describe('the first frame', () => {
  test('that does not arrive within five seconds ends the socket with 4401', async () => {
    const began = performance.now()
    const silent = openSocket(bridge.ben, null)
    expect(await silent.ended).toBe(4401)
    expect(await silent.reason()).toBe('unauthenticated')
    expect(performance.now() - began).toBeGreaterThan(4900)
    // `connections/unauthenticated-sockets.test.ts` shows the exact time by a clock that it sets.
    expect(performance.now() - began).toBeLessThan(15_000)
  })

  const bad: readonly [string, (agent: typeof bridge.ada) => unknown, string][] = [
    ['of another type', () => ({ type: 'ping' }), 'unauthenticated'],
    ['that is no object', () => ['authenticate'], 'unauthenticated'],
    ['without headers', () => ({ type: 'authenticate' }), 'unauthenticated'],
    [
      'with one field too many',
      (agent) => ({ ...authenticate(agent), session: agent.session?.id }),
      'unauthenticated',
    ],
    [
      'signed for the socket',
      (agent) => ({
        type: 'authenticate',
        headers: Object.fromEntries(
          agent.sign({ method: 'GET', target: '/api/v1/socket' }, '').map(([n, v]) => [n.toLowerCase(), v]),
        ),
      }),
      'signature_invalid',
    ],
    [
      'with a header twice in another case',
      (agent) => {
        const { type, headers } = authenticate(agent)
        return { type, headers: { ...headers, 'X-Bridge-Session': headers['x-bridge-session'] } }
      },
      'unauthenticated',
    ],
  ]
  test.concurrent.each(bad)('%s ends the socket with 4401', async (_what, frame, code) => {
    const agent = await fresh()
    const socket = openSocket(agent, frame(agent))
    expect(await socket.ended).toBe(4401)
    expect(await socket.reason()).toBe(code)
  })

  test('without a session ends the socket with 1008', async () => {
    const agent = await fresh()
    const headers = agent
      .sign({ target: '/api/v1/events', session: null }, '')
      .map(([name, value]) => [name.toLowerCase(), value])
    const socket = openSocket(agent, { type: 'authenticate', headers: Object.fromEntries(headers) })
    expect(await socket.ended).toBe(1008)
    expect(await socket.reason()).toBe('invalid_request')
  })

  test('of an unknown session ends the socket with 4409', async () => {
    const agent = await fresh()
    agent.session = { id: crypto.randomUUID(), generation: 1 }
    const socket = openSocket(agent)
    expect(await socket.ended).toBe(4409)
    expect(await socket.reason()).toBe('session_unknown')
  })

  test('can be used once', async () => {
    const agent = await fresh()
    const frame = authenticate(agent)
    const first = openSocket(agent, frame)
    await first.opened
    const second = openSocket(agent, frame)
    expect(await second.reason()).toBe('request_replayed')
    expect(await second.ended).toBe(4401)
    first.close()
  })

  test('and a ping directly after it are both answered', async () => {
    const agent = await fresh()
    const socket = openSocket(agent, null)
    await once(socket.socket, 'open')
    socket.send(JSON.stringify(authenticate(agent)))
    socket.send('{"type":"ping"}')
    await socket.take('ready')
    await socket.take('pong')
    socket.close()
  })

  test('and a forbidden frame directly after it end the socket with 1008', async () => {
    const agent = await fresh()
    const socket = openSocket(agent, null)
    await once(socket.socket, 'open')
    socket.send(JSON.stringify(authenticate(agent)))
    socket.send('{"type":"messages"}')
    expect(await socket.ended).toBe(1008)
    expect((await connectionOf(bridge, agent)).next_contact.kind).not.toBe('scheduled')
  })
})

describe('a later frame', () => {
  const bad: readonly [string, string | Buffer][] = [
    ['of another type', '{"type":"acknowledge"}'],
    ['that authenticates again', '{"type":"authenticate","headers":{}}'],
    ['of a ping with more in it', '{"type":"ping","n":1}'],
    ['that is binary', Buffer.from('{"type":"ping"}')],
    ['that is not JSON', 'ping'],
    ['that is empty', ''],
  ]
  test.concurrent.each(bad)('%s ends the socket with 1008', async (_what, frame) => {
    const socket = openSocket(await fresh())
    await socket.opened
    socket.send(frame)
    expect(await socket.ended).toBe(1008)
  })

  test('over 64 KiB ends the socket', async () => {
    const socket = openSocket(await fresh())
    await socket.opened
    socket.send('x'.repeat(64 * 1024 + 1))
    expect([1006, 1009]).toContain(await socket.ended)
  })
})

test('a third wait of a session is refused, whatever the transports of the first two', async () => {
  const agent = await fresh()
  const one = openSocket(agent)
  const two = openEvents(agent)
  await Promise.all([one.opened, two.opened])
  const third = openSocket(agent)
  expect(await third.ended).toBe(4429)
  expect(await third.reason()).toBe('wait_limit')
  const events = openEvents(agent)
  expect(await events.ended).toBe(429)
  expect(await events.reason()).toBe('wait_limit')
  const poll = await agent.call({ target: '/api/v1/inbox?wait_seconds=1' })
  expect(poll.status).toBe(429)
  expect(poll.headers['retry-after']).toBe('1')
  one.close()
  const again = await until(
    () => agent.call({ target: '/api/v1/inbox?wait_seconds=1' }),
    ({ status }) => status !== 429,
  )
  expect(again.status).toBe(200)
  two.close()
})

test('a node at its limit of waits refuses the next one on every transport', async () => {
  const small = await startBridge({ settings: { max_waits: '1' } })
  const one = openSocket(small.ada)
  await one.opened
  const socket = openSocket(small.ben)
  expect(await socket.ended).toBe(1013)
  expect(await socket.reason()).toBe('capacity_reached')
  const events = openEvents(small.ben)
  expect(await events.ended).toBe(503)
  const poll = await small.ben.call({ target: '/api/v1/inbox?wait_seconds=1' })
  expect(poll.json).toMatchObject({ error: 'capacity_reached', details: { limit: 'waits' } })
  expect(poll.headers['retry-after']).toBe('5')
  one.close()
  await small.close()
})

test('an internal error of the server ends the socket with 1012, because the credential is not at fault', async () => {
  const steady = testClock()
  let isBroken = false
  const clock = Object.assign(() => {
    if (isBroken) throw new Error('the clock is broken')
    return steady()
  }, steady)
  const own = await startBridge({ clock })
  try {
    const socket = openSocket(own.ada, null)
    await once(socket.socket, 'open')
    const frame = JSON.stringify(authenticate(own.ada))
    isBroken = true
    socket.send(frame)
    expect(await socket.reason()).toBe('internal')
    expect(await socket.ended).toBe(closeCodes.restart)
  } finally {
    isBroken = false
    await own.close()
  }
})

test('a stopping server does not wait for sockets that never authenticated or no longer answer', async () => {
  const own = await startBridge()
  const deaf = openSocket(own.ada)
  await deaf.opened
  deaf.pause()
  // It has five seconds to authenticate.
  const silent = openSocket(own.ben, null)
  await once(silent.socket, 'open')
  const began = performance.now()
  await own.server.stop()
  // A server that waits closes its connections after ten seconds.
  expect(performance.now() - began).toBeLessThan(9500)
  await own.close()
  deaf.close()
  expect(await silent.ended).toBe(1012)
})
