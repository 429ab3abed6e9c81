/**
 * The signing vectors against a complete server, byte for byte over a socket. Further tests check replay
 * across restarts, processes, refusals, parallel copies and moving clocks, which only a running server can
 * show.
 *
 * `test/vectors/README.md` "Against a whole server", contract §3, reliability §4.7.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errors } from '../../sdk/contract/errors.ts'
import { endpoints } from '../../sdk/contract/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { exchangeOne, signedText } from '../support/raw-client.ts'
import type { RawReply } from '../support/raw-replies.ts'
import { type NamedVector, requestOf, vectorNamed, vectors } from '../vectors/vectors.ts'
import { startVectorServer, type VectorServer } from './vector-server.ts'

/** "`ok` means that authentication let the request through." */
const authentication = new Set<string>([
  ...Object.entries(errors).flatMap(([code, { status }]) => (status === 401 ? [code] : [])),
  'session_unknown',
  'session_fenced',
  'session_closed',
])

const outcomeOf = ({ error }: RawReply): string =>
  error !== undefined && authentication.has(error) ? error : 'ok'

/** Authentication runs on known routes only. */
function isServed(vector: NamedVector): boolean {
  const { method, target } = requestOf(vector)
  const [path = ''] = target.split('?', 1)
  return endpoints.some((entry) => {
    const rule = new RegExp(`^${entry.path.replace(/\{[a-z_]+\}/g, '[^/]+')}$`)
    return entry.method === method && rule.test(path)
  })
}

const groups = Map.groupBy(vectors, ({ identity, floor, other_sessions }) =>
  JSON.stringify([identity, floor, other_sessions]),
)

describe.each([...groups.values()].map((group) => ({ group, first: group[0]?.name, count: group.length })))(
  'vectors with the identity of $first ($count)',
  ({ group }) => {
    let server: VectorServer
    beforeAll(async () => {
      server = await startVectorServer(group)
    })
    afterAll(() => server.close())

    test.each(group.map((vector) => ({ name: vector.name, code: vector.expect, vector })))(
      'the server answers $code to $name',
      async ({ vector, code }) => {
        server.clock.set(new Date(vector.now * 1000))
        for (const before of vector.before) await server.send(before)
        const reply = await server.send(vector.request_raw_b64)
        expect(reply.status).toBeGreaterThan(0)
        if (code === 'ok') expect(outcomeOf(reply)).toBe('ok')
        else expect([reply.error, reply.status]).toEqual([code, errors[code as keyof typeof errors].status])
      },
    )
  },
)

test('every vector was sent, because its route is in the contract', () => {
  expect(vectors.filter((vector) => !isServed(vector)).map(({ name }) => name)).toEqual([])
})

describe('a captured request', () => {
  const vector = vectorNamed('v1-header-names-in-any-case')
  let server: VectorServer
  const replay = async (atSeconds: number) => {
    server.clock.set(new Date(atSeconds * 1000))
    return server.send(vector.request_raw_b64)
  }
  beforeEach(async () => {
    server = await startVectorServer([vector])
  })
  afterEach(() => server.close())

  test('is refused after a restart', async () => {
    expect((await replay(vector.now)).status).toBe(200)
    await server.restart()
    expect(await replay(vector.now)).toMatchObject({ status: 401, error: 'request_replayed' })
  })

  test('is refused by its nonce while its time is in the window, and by its time afterwards', async () => {
    expect((await replay(vector.now - 30)).status).toBe(200)
    expect((await replay(vector.now + 300)).error).toBe('request_replayed')
    expect((await replay(vector.now + 301)).error).toBe('clock_skew')
  })

  test('is refused when the clock goes back an hour, and again when it returns', async () => {
    expect((await replay(vector.now)).status).toBe(200)
    expect((await replay(vector.now - 3600)).error).toBe('clock_skew')
    expect((await replay(vector.now)).error).toBe('request_replayed')
    await server.restart()
    expect((await replay(vector.now)).error).toBe('request_replayed')
  })

  test('is accepted once, and not again, if its first time was at the edge of the window', async () => {
    expect((await replay(vector.now + 300)).status).toBe(200)
    expect((await replay(vector.now + 300)).error).toBe('request_replayed')
  })
})

describe('with a bridge of two agents', () => {
  let bridge: TestBridge
  beforeAll(async () => {
    bridge = await startBridge()
  })
  afterAll(() => bridge.close())

  test('of a thousand simultaneous copies one succeeds', async () => {
    const bytes = signedText(bridge.ada, { target: '/api/v1/bootstrap', session: null })
    const replies = await Promise.all(
      Array.from({ length: 1000 }, () => exchangeOne(bridge.server.port, bytes)),
    )
    const outcomes = Map.groupBy(replies, ({ status, error }) => `${status} ${error}`)
    expect([...outcomes].map(([outcome, all]) => [outcome, all.length]).sort()).toEqual([
      ['200 undefined', 1],
      ['401 request_replayed', 999],
    ])
  })

  test.each([
    { first: 'invalid_request', status: 422, body: { message_ids: [] }, target: '/api/v1/acknowledgements' },
    {
      first: 'not_found',
      status: 404,
      body: { message_ids: ['00000000-0000-7000-8000-000000000000'] },
      target: '/api/v1/acknowledgements',
    },
  ])('a copy is refused after the first was answered $status', async ({ first, status, body, target }) => {
    const bytes = signedText(bridge.ada, { target, body, key: null })
    expect(await exchangeOne(bridge.server.port, bytes)).toMatchObject({ status, error: first })
    expect(await exchangeOne(bridge.server.port, bytes)).toMatchObject({
      status: 401,
      error: 'request_replayed',
    })
  })

  test('a copy is refused after the first was a conflict, whatever the state has become', async () => {
    const { ada } = bridge
    const body = {
      instance_id: '5a3f0c1d-9e2b-4a76-8c4d-7b6e5f4a3c2d',
      client: { name: 'other', version: '1' },
    }
    const bytes = signedText(ada, { target: '/api/v1/sessions', body, session: null, key: null })
    expect(await exchangeOne(bridge.server.port, bytes)).toMatchObject({
      status: 409,
      error: 'session_active',
    })
    await ada.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
    expect(await exchangeOne(bridge.server.port, bytes)).toMatchObject({
      status: 401,
      error: 'request_replayed',
    })
    await ada.startSession()
  })

  test('a wrong clock and a revoked credential have different refusals', async () => {
    const cy = await bridge.agent('cy')
    const now = Math.floor(bridge.clock().getTime() / 1000)
    const late = { target: '/api/v1/peers', time: now - 3600 }
    const skewed = await cy.call(late)
    expect(skewed.status).toBe(401)
    expect(skewed.json).toMatchObject({ error: 'clock_skew' })
    const { server_time } = (skewed.json as { details: { server_time: string } }).details
    expect(Math.abs(Date.parse(server_time) / 1000 - now)).toBeLessThan(60)

    await bridge.owner.ok({
      target: `/api/admin/projects/${bridge.project.id}/credentials/${cy.enrolled.credential_id}/revoke`,
      body: {},
    })
    for (const call of [late, { target: '/api/v1/peers' }]) {
      const revoked = await cy.call(call)
      expect(revoked.status).toBe(401)
      expect(revoked.json).toMatchObject({ error: 'credential_revoked' })
      expect(revoked.json).not.toHaveProperty('details')
    }
  })
})
