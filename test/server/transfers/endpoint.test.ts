/**
 * The endpoint of a direct transfer: the addresses, times and tokens that the node refuses and accepts.
 *
 * Spec §2; contract §9.
 */
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { destroyIfExpired } from '../../../server/transfers/secrets.ts'
import type { TestAgent } from '../../support/agent.ts'
import { eachAttack } from '../../support/attacks.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, look, offer, told } from '../../support/files.ts'
import { storedBytes, withStore } from '../../support/test-store.ts'

vi.mock('../../../server/transfers/secrets.ts', { spy: true })

let bridge: TestBridge
let ada: TestAgent
let ben: TestAgent
const bytes = fileOf(900)

beforeAll(async () => {
  bridge = await startBridge()
  ada = bridge.ada
  ben = bridge.ben
})
afterAll(() => bridge.close())

/** Makes an offer that is cancelled when the test ends. */
async function offered(): Promise<Transfer> {
  const transfer = await offer({ from: ada, to: ben, bytes, fields: { mode: 'direct' } })
  onTestFinished(async () => void (await act(ada, transfer.id, 'cancel')))
  return transfer
}

describe('an endpoint', () => {
  const secret = (fields: object = {}) => ({
    endpoint: 'https://tunnel.example',
    token: 'T'.repeat(43),
    expires_at: new Date(bridge.clock().getTime() + 10_000).toISOString(),
    helper_mode: 'download',
    ...fields,
  })
  const at = (ms: number) => new Date(bridge.clock().getTime() + ms).toISOString()

  eachAttack<[string, () => object]>(
    5,
    [
      ['has a path', () => ({ endpoint: 'https://tunnel.example/v1' })],
      ['ends in a slash', () => ({ endpoint: 'https://tunnel.example/' })],
      ['has a query', () => ({ endpoint: 'https://tunnel.example?x=1' })],
      ['names a user', () => ({ endpoint: 'https://ada:pw@tunnel.example' })],
      ['is no address', () => ({ endpoint: 'https://' })],
      ['is of another scheme', () => ({ endpoint: 'ftp://tunnel.example' })],
      ['is plain http to a name', () => ({ endpoint: 'http://tunnel.example' })],
      ['is plain http to a public address', () => ({ endpoint: 'http://203.0.113.7:8485' })],
      ['is plain http to a public address in IPv6', () => ({ endpoint: 'http://[2001:db8::7]:8485' })],
      ['is plain http to a name that looks private', () => ({ endpoint: 'http://10.evil.example' })],
      [
        'is plain http to a name that only starts like a local one',
        () => ({ endpoint: 'http://localhost.evil.example' }),
      ],
      ['is written in another base', () => ({ endpoint: 'http://0x7f000001:8485' })],
      ['has expired', () => ({ expires_at: at(-1) })],
      ['expires later than a helper may', () => ({ expires_at: at(1_801_000) })],
      ['has a short token', () => ({ token: 'T'.repeat(42) })],
      ['has a token with a line break', () => ({ token: `${'T'.repeat(43)}\r\nx: y` })],
      ['is of the other side’s mode', () => ({ helper_mode: 'upload' })],
    ],
    (what) => `that ${what} is refused in words that do not repeat it`,
    async (_, fields) => {
      const { id } = await offered()
      const body = secret(fields())
      const reply = await act(ada, id, 'secret', body)
      expect([403, 422]).toContain(reply.status)
      for (const word of [body.token.slice(0, 42), body.endpoint.slice(8)].filter(({ length }) => length > 0))
        expect(reply.text).not.toContain(word)
      expect(await look(ada, id)).toMatchObject({ offer: { endpoint_ready: false, expires_at: null } })
    },
  )

  test.each(['http://127.0.0.1:1', 'http://localhost:1', 'http://192.168.1.9:1', 'http://[fd00::1]:1'])(
    'of this network may use plain HTTP: %s',
    async (endpoint) => {
      const { id } = await offered()
      expect(told(await act(ada, id, 'secret', secret({ endpoint })))).toEqual([200, undefined])
    },
  )

  test('that arrives while the previous one is being expired stays', async () => {
    const { id } = await offered()
    await act(ben, id, 'accept')
    const target = `/api/v1/transfers/${id}/secret`
    for (let round = 0; round < 5; round += 1) {
      expect(told(await act(ada, id, 'secret', secret()))).toEqual([200, undefined])
      bridge.clock.advance(11)
      const [, deposit] = await Promise.all([ben.call({ target }), act(ada, id, 'secret', secret())])
      expect(deposit.status).toBe(200)
      expect(told(await ben.call({ target }))).toEqual([200, undefined])
    }
  })
})

describe('an endpoint that has expired', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
  afterEach(() => void vi.useRealTimers())

  test('is destroyed, and reading it is refused as expired until the transfer ends', async () => {
    const own = await startBridge()
    onTestFinished(() => own.close())
    const deposited = async () => {
      const fields = { mode: 'direct' } as const
      const { id } = await offer({ from: own.ada, to: own.ben, bytes, fields })
      await act(own.ben, id, 'accept')
      const expires_at = new Date(own.clock().getTime() + 60_000).toISOString()
      const secret = { endpoint: 'https://tunnel.example', token: 'T'.repeat(43), helper_mode: 'download' }
      expect((await act(own.ada, id, 'secret', { ...secret, expires_at })).status).toBe(200)
      return id
    }
    const read = async (id: string, by = own.ben) =>
      told(await by.call({ target: `/api/v1/transfers/${id}/secret` }))
    const find = 'SELECT sealed FROM transfer_secrets WHERE transfer_id = ?'
    const sealedOf = (id: string) =>
      withStore(own.data, (store) => store.prepare<Buffer>(find).pluck().get(id)) ?? Buffer.alloc(0)
    const [asked, unasked] = [await deposited(), await deposited()]
    const sealed = [asked, unasked].map(sealedOf)
    expect(await read(asked, own.ada)).toEqual([403, 'not_permitted'])

    own.clock.advance(61)
    expect(await read(asked)).toEqual([410, 'offer_expired'])
    vi.mocked(destroyIfExpired).mockClear()
    // The side that deposited it may wait for an endpoint of the other side.
    for (const reader of [own.ben, own.ada]) expect(await read(asked, reader)).toEqual([410, 'offer_expired'])
    expect(destroyIfExpired).not.toHaveBeenCalled()
    expect(sealedOf(asked)).toHaveLength(0)
    // The upkeep destroys what nobody asked for.
    vi.advanceTimersByTime(15_000)
    await expect.poll(() => sealedOf(unasked).length).toBe(0)
    for (const id of [asked, unasked]) expect(await read(id)).toEqual([410, 'offer_expired'])
    const stored = storedBytes(own.data)
    expect(sealed.map((each) => each.length > 0 && stored.includes(each))).toEqual([false, false])
    expect(await look(own.ben, asked)).toMatchObject({ offer: { endpoint_ready: false, expires_at: null } })
    await act(own.ada, asked, 'cancel')
    const count = 'SELECT count(*) FROM transfer_secrets'
    expect(withStore(own.data, (store) => store.prepare<number>(count).pluck().get())).toBe(1)
  })
})
