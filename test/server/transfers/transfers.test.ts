/** Offers and their outcomes, over a real socket. Contract §9. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import type { AuditList } from '../../../sdk/contract/owner/audit.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, fileOf, look, offer, offerBody, sha256, told, upload } from '../../support/files.ts'
import { tamper } from '../../support/tamper.ts'
import { storedBytes, withStore } from '../../support/test-store.ts'

let bridge: TestBridge
let ada: TestAgent
let ben: TestAgent
const bytes = fileOf(3000)

beforeAll(async () => {
  bridge = await startBridge()
  ada = bridge.ada
  ben = bridge.ben
})
afterAll(() => bridge.close())

const given = (fields: object = {}) => ({ from: ada, to: ben, bytes, fields })
const direct = () => offer(given({ mode: 'direct' }))
const receiptOf = ({ size, sha256 }: Transfer) => ({ size, sha256 })

async function unacknowledged(by: TestAgent) {
  const { messages } = await by.ok<{
    messages: { type: string; body: string; sender: { kind: string }; transfer_id: string }[]
  }>({ target: '/api/v1/inbox/messages?limit=100' })
  return messages
}

const newest = async (by: TestAgent) => (await unacknowledged(by)).at(-1)

const bodiesOf = async (by: TestAgent, id: string) =>
  (await unacknowledged(by)).filter(({ transfer_id }) => transfer_id === id).map(({ body }) => body)

describe('an offer', () => {
  test('is announced to its recipient by the service, with the command that accepts it', async () => {
    const { id } = await direct()
    expect(await newest(ben)).toMatchObject({
      type: 'transfer',
      sender: { kind: 'system' },
      transfer_id: id,
      body: `ada offers a file: report.pdf (3000 bytes)\nagent-bridge transfer receive ${id}`,
    })
  })

  test('becomes verified by the receipt, and each side gets one message', async () => {
    const made = await offer(given())
    const { id } = made
    expect(told(await act(ben, id, 'accept'))).toEqual([200, undefined])
    await upload(ada, made, bytes)
    const receipt = receiptOf(await look(ben, id))
    expect((await act(ben, id, 'receipt', receipt)).json).toMatchObject({ state: 'verified', receipt })
    expect(await bodiesOf(ben, id)).toEqual([
      `ada offers a file: report.pdf (3000 bytes)\nagent-bridge transfer receive ${id}`,
    ])
    expect(await bodiesOf(ada, id)).toEqual([
      `received and verified by ben: report.pdf (3000 bytes)\nagent-bridge transfer show ${id}`,
    ])
  })

  test('that gets the same answer twice changes once', async () => {
    const { id } = await direct()
    const first = await act(ben, id, 'accept')
    expect((await act(ben, id, 'accept')).json).toEqual(first.json)
    expect(told(await act(ben, id, 'decline'))).toEqual([409, 'state_conflict'])
  })

  test('can be declined by its recipient only', async () => {
    const { id } = await direct()
    expect(told(await act(ada, id, 'decline'))).toEqual([403, 'not_permitted'])
    const reason = 'too large\nagent-bridge transfer receive 1'
    expect((await act(ben, id, 'decline', { reason })).json).toMatchObject({ state: 'declined' })
    const [, ...lines] = (await newest(ada))?.body.split('\n') ?? []
    // No line of the reason reads as one of the service.
    expect(lines).toEqual([
      '> too large',
      '> agent-bridge transfer receive 1',
      `agent-bridge transfer show ${id}`,
    ])
    const target = `/api/admin/projects/${bridge.project.id}/audit?order=newest_first&limit=1`
    const { audit } = await bridge.owner.ok<AuditList>({ target })
    expect(audit).toMatchObject([{ kind: 'transfer.declined', subject: { id } }])
    expect(JSON.stringify(audit)).not.toContain('too large')
  })

  test.each([
    ['filename', '../etc/passwd'],
    ['filename', 'CON.txt'],
    ['size', 2999],
    ['parts', [{ index: 1, offset: 0, size: 3000, sha256: sha256(bytes) }]],
    ['sha256', sha256(Buffer.from('other'))],
  ])('with a wrong %s is refused as a manifest', async (field, value) => {
    const body = await offerBody(given({ [field]: value }))
    expect(told(await ada.call({ target: '/api/v1/transfers', body }))).toEqual([422, 'manifest_invalid'])
  })

  test('can be made to agents, not to the owner', async () => {
    const body = {
      ...(await offerBody(given())),
      conversation_id: await ada.conversationWith(ada.id),
      recipient_agent_id: ada.id,
    }
    expect(told(await ada.call({ target: '/api/v1/transfers', body }))).toEqual([422, 'invalid_request'])
  })

  test('is visible to its two sides only', async () => {
    const cleo = await bridge.agent('cleo')
    const { id } = await direct()
    expect(told(await cleo.call({ target: `/api/v1/transfers/${id}` }))).toEqual([404, 'not_found'])
    expect(told(await act(cleo, id, 'accept'))).toEqual([404, 'not_found'])
  })

  test('with one key is stored once', async () => {
    const body = await offerBody(given())
    const key = 'offer-once-1'
    const first = await ada.ok<Transfer>({ target: '/api/v1/transfers', body, key })
    expect((await ada.ok<Transfer>({ target: '/api/v1/transfers', body, key })).id).toBe(first.id)
  })
})

describe('a receipt', () => {
  test('that does not match leaves the transfer unchanged and is recorded', async () => {
    const { id } = await direct()
    await act(ben, id, 'accept')
    const wrong = { size: 3000, sha256: sha256(Buffer.from('other')) }
    expect(told(await act(ben, id, 'receipt', wrong))).toEqual([422, 'receipt_mismatch'])
    expect(await look(ada, id)).toMatchObject({ state: 'accepted', receipt: null })
    expect(await kindsOf(id)).toContain('transfer.receipt_refused')
  })

  test('can be given by the recipient only', async () => {
    const transfer = await direct()
    await act(ben, transfer.id, 'accept')
    expect(told(await act(ada, transfer.id, 'receipt', receiptOf(transfer)))).toEqual([403, 'not_permitted'])
  })

  test('is refused before the package is complete', async () => {
    const transfer = await offer(given())
    await act(ben, transfer.id, 'accept')
    expect(told(await act(ben, transfer.id, 'receipt', receiptOf(transfer)))).toEqual([409, 'state_conflict'])
    await upload(ada, transfer, bytes)
    expect((await act(ben, transfer.id, 'receipt', receiptOf(transfer))).json).toMatchObject({
      state: 'verified',
    })
  })
})

describe('a package moves in parts, and the node refuses', () => {
  const ranges = ['Range: bytes=0-1', 'range: bytes=-1', 'Range: lines=0-1', 'Content-Range: bytes 0-1/2']
  test.each(ranges)('%s', async (line) => {
    const transfer = await offer(given())
    await upload(ada, transfer, bytes)
    await act(ben, transfer.id, 'accept')
    const [name = '', value = ''] = line.split(': ', 2)
    const under = `/api/v1/transfers/${transfer.id}/package/`
    const put = { method: 'PUT', body: bytes, key: null } as const
    const replies = [
      await ben.call({ target: `${under}file`, override: { [name]: value } }),
      await ben.call({ target: `${under}parts/0`, override: { [name]: value } }),
      await ada.call({ ...put, target: `${under}parts/0`, override: { [name]: value } }),
    ]
    for (const reply of replies) {
      expect(told(reply)).toEqual([422, 'invalid_request'])
      expect(reply.json).toMatchObject({ details: { faults: [{ path: `header ${name.toLowerCase()}` }] } })
    }
    await act(ada, transfer.id, 'cancel')
  })
})

async function kindsOf(id: string): Promise<string[]> {
  const { audit } = await bridge.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${bridge.project.id}/audit?subject_id=${id}&limit=100`,
  })
  return audit.map(({ kind }) => kind)
}

describe('elapsed time', () => {
  test('ends a transfer for both sides in every state', async () => {
    const { id } = await offer(given({ ttl_seconds: 60 }))
    bridge.clock.advance(61)
    expect(await look(ada, id)).toMatchObject({ state: 'expired', offer: { endpoint_ready: false } })
    expect(told(await act(ben, id, 'accept'))).toEqual([410, 'offer_expired'])
    expect(told(await act(ben, id, 'cleanup'))).toEqual([200, undefined])
    expect((await newest(ada))?.body).toContain('expired')
  })

  test.each([3600, -3600])(
    'is independent of the clock: setting it by %i s ends nothing, and the shown times move along',
    async (seconds) => {
      const { clock } = bridge
      const file = await offer(given({ ttl_seconds: 600 }))
      await upload(ada, file, bytes)
      const served = await direct()
      for (const { id } of [file, served]) await act(ben, id, 'accept')
      const endpoint = { endpoint: 'https://tunnel.example', token: 'T'.repeat(43), helper_mode: 'download' }
      const deposit = () =>
        act(ada, served.id, 'secret', {
          ...endpoint,
          expires_at: new Date(clock().getTime() + 300_000).toISOString(),
        })
      const read = () => ben.call({ target: `/api/v1/transfers/${served.id}/secret` })
      const fetch = () => ben.call({ target: `/api/v1/transfers/${file.id}/package/file` })
      const before = ((await deposit()).json as Transfer).offer

      clock.step(seconds)
      const list = await ada.ok<{ transfers: Transfer[] }>({ target: '/api/v1/transfers?state=accepted' })
      const shown = list.transfers.find(({ id }) => id === file.id)
      expect(away(shown?.expires_at, file.expires_at, seconds)).toBeLessThan(1000)
      expect((await fetch()).bytes.equals(bytes)).toBe(true)
      const secret = await read()
      expect(secret.json).toMatchObject(endpoint)
      const { expires_at } = secret.json as { expires_at: string }
      expect(away(expires_at, before.expires_at, seconds)).toBeLessThan(1000)
      expect((await look(ada, served.id)).offer).toEqual({ expires_at, endpoint_ready: true })

      clock.advance(301)
      expect(told(await read())).toEqual([410, 'offer_expired'])
      expect(told(await deposit())).toEqual([200, undefined])
      expect((await read()).status).toBe(200)
      expect((await fetch()).status).toBe(200)
      clock.advance(300)
      expect(told(await fetch())).toEqual([410, 'offer_expired'])
      // A list stores the expiry; afterwards nothing changes.
      await ben.ok({ target: '/api/v1/transfers' })
      const over = await look(ben, file.id)
      expect(over.state).toBe('expired')
      expect(away(over.expires_at, file.expires_at, seconds)).toBeLessThan(1000)
      clock.step(-seconds)
      expect(await look(ada, file.id)).toMatchObject({ state: 'expired', expires_at: over.expires_at })
      // The failure is not permanent: the same file can be offered again.
      await act(ada, (await offer(given())).id, 'cancel')
    },
  )

  test('is known after a restart, and no transfer lasts longer than allowed afterwards', async () => {
    const { clock } = bridge
    const { id } = await offer(given({ ttl_seconds: 600 }))
    clock.step(3600)
    expect((await look(ada, id)).state).toBe('offered')
    const kept = () =>
      tamper(bridge.data, (database) =>
        database.prepare('SELECT wall_ms - steady_ms FROM steady_clock').pluck().get(),
      )
    await expect.poll(kept).toBeGreaterThan(3_590_000)
    bridge = await bridge.restart()
    expect((await look(ada, id)).state).toBe('offered')
    await bridge.server.stop()
    clock.step(-7200)
    bridge = await bridge.restart()
    expect((await look(ada, id)).state).toBe('offered')
    clock.advance(601)
    expect((await look(ada, id)).state).toBe('expired')
    clock.step(3600)
  })
})

/** The difference of two times in milliseconds, corrected by the seconds that the clock was set by. */
const away = (shown: string | null | undefined, of: string | null, seconds: number): number =>
  Math.abs(Date.parse(shown ?? '') - Date.parse(of ?? '') - seconds * 1000)

test('each side reports its cleanup once the transfer has ended', async () => {
  const { id } = await direct()
  expect(told(await act(ada, id, 'cleanup'))).toEqual([409, 'state_conflict'])
  await act(ada, id, 'cancel')
  const first = (await act(ada, id, 'cleanup')).json as Transfer
  expect(first.cleanup).toMatchObject({ recipient_at: null })
  expect(first.cleanup.sender_at).not.toBeNull()
  expect((await act(ada, id, 'cleanup')).json).toEqual(first)
  expect((await act(ben, id, 'cleanup')).json).toMatchObject({
    cleanup: { sender_at: first.cleanup.sender_at },
  })
})

test('disabling a pair cancels its open transfers immediately', async () => {
  const { id } = await direct()
  await act(ben, id, 'accept')
  const pairing = (enabled: boolean) =>
    bridge.owner.ok({
      target: `/api/admin/projects/${bridge.project.id}/pairings`,
      body: { agent_ids: [ada.id, ben.id], enabled },
    })
  await pairing(false)
  const list = await ada.ok<{ transfers: unknown[] }>({ target: '/api/v1/transfers' })
  expect(list.transfers).toEqual([])
  const body = { ...(await offerBodyWithoutPair()), mode: 'direct' }
  expect(told(await ada.call({ target: '/api/v1/transfers', body }))).toEqual([409, 'pairing_disabled'])
  await pairing(true)
  expect(await look(ada, id)).toMatchObject({ state: 'cancelled' })

  async function offerBodyWithoutPair() {
    const { conversation_id } = await look(ada, id)
    const { id: _, ...rest } = { ...(await plainBody()), conversation_id, id }
    return rest
  }
})

const plainBody = async () => ({
  recipient_agent_id: ben.id,
  filename: 'report.pdf',
  size: bytes.length,
  sha256: sha256(bytes),
  parts: [{ index: 0, offset: 0, size: bytes.length, sha256: sha256(bytes) }],
  encryption: 'none',
})

test('lists are filtered by role and state and contain no parts', async () => {
  const { id } = await direct()
  const page = await ben.ok<{ transfers: Partial<Transfer>[] }>({
    target: '/api/v1/transfers?role=recipient&state=offered&limit=100',
  })
  expect(page.transfers.at(-1)).toMatchObject({ id, state: 'offered' })
  expect(page.transfers.at(-1)).not.toHaveProperty('parts')
  const own = await ben.ok<{ transfers: unknown[] }>({ target: '/api/v1/transfers?role=sender' })
  expect(own.transfers).toEqual([])
})

describe('an endpoint and its token are stored sealed, and are deleted once the transfer', () => {
  const secret = (letter = 'T') => ({
    endpoint: 'https://tunnel.example',
    token: letter.repeat(43),
    expires_at: new Date(bridge.clock().getTime() + 60_000).toISOString(),
    helper_mode: 'download',
  })

  /** Returns the sealed value stored for it, which cannot be opened with another row of the transfer. */
  function sealedOf(id: string): Buffer | undefined {
    const find = 'SELECT sealed FROM transfer_secrets WHERE transfer_id = ?'
    return withStore(bridge.data, (store) => store.prepare<Buffer>(find).pluck().get(id))
  }

  test.each<[string, (transfer: Transfer) => Promise<unknown>]>([
    ['is verified', (transfer) => act(ben, transfer.id, 'receipt', receiptOf(transfer))],
    ['is cancelled', ({ id }) => act(ada, id, 'cancel')],
    ['has failed', ({ id }) => act(ben, id, 'fail')],
    ['has another', ({ id }) => act(ada, id, 'secret', secret('U'))],
    [
      'finds it expired',
      ({ id }) => {
        bridge.clock.advance(61)
        return ben.call({ target: `/api/v1/transfers/${id}/secret` })
      },
    ],
  ])('%s', async (_, end) => {
    const transfer = await direct()
    await act(ben, transfer.id, 'accept')
    await act(ada, transfer.id, 'secret', secret())
    const sealed = sealedOf(transfer.id) ?? Buffer.alloc(0)
    expect(sealed.length).toBeGreaterThan(100)
    expect([sealed.includes('tunnel'), sealed.includes('TTTT')]).toEqual([false, false])
    expect(storedBytes(bridge.data).includes(sealed)).toBe(true)
    await end(transfer)
    expect(sealedOf(transfer.id)?.equals(sealed) ?? false).toBe(false)
    expect(storedBytes(bridge.data).includes(sealed)).toBe(false)
  })
})
