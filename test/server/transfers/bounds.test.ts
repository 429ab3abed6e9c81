/**
 * The node refuses hostile transfers: names that are paths, false manifests, more bytes than there is space
 * for, parts that were not offered, repeated effects. The file also tests the transfers that the owner sees
 * and ends.
 *
 * Spec §2; contract §9.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Transfer, TransferState } from '../../../sdk/contract/agent/transfers.ts'
import { emptySha256 } from '../../../sdk/contract/helper/manifest.ts'
import type { TestAgent } from '../../support/agent.ts'
import { eachAttack } from '../../support/attacks.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { badNames, goodNames } from '../../support/file-names.ts'
import {
  act,
  fileOf,
  finalize,
  look,
  offer,
  offerBody,
  putOther,
  putPart,
  sha256,
  told,
  upload,
} from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { soon } from '../../support/waits.ts'

let bridge: TestBridge
let ada: TestAgent
let ben: TestAgent
const settings = { package_bytes: '1000', packages_bytes: '2500', sender_packages_bytes: '2000' }
const bytes = fileOf(900)
const partSize = 400
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

beforeAll(async () => {
  bridge = await startBridge({ settings })
  ada = bridge.ada
  ben = bridge.ben
})
afterAll(() => bridge.close())

const given = (fields: object = {}) => ({ from: ada, to: ben, bytes, partSize, fields })
const propose = async (fields: object) =>
  ada.call({ target: '/api/v1/transfers', body: await offerBody(given(fields)) })
const count = async () =>
  (await ada.ok<{ transfers: unknown[] }>({ target: '/api/v1/transfers?limit=100' })).transfers.length
const folderOf = (id: string) => join(bridge.data, 'packages', id)
const folders = () => readdir(join(bridge.data, 'packages')).catch(() => [])
/** Whether the first bytes are in any file of the package. */
async function isStored(id: string, some: Buffer): Promise<boolean> {
  const names = await readdir(folderOf(id))
  return names.some((name) => readFileSync(join(folderOf(id), name)).includes(some.subarray(0, 64)))
}
const gone = (id: string) => vi.waitFor(() => expect(existsSync(folderOf(id))).toBe(false), soon)

/** Ends the transfer, which frees space for the next test. */
async function over({ id, mode }: Pick<Transfer, 'id' | 'mode'>): Promise<void> {
  await act(ada, id, 'cancel')
  if (mode === 'package') await vi.waitFor(() => expect(existsSync(folderOf(id))).toBe(false), soon)
  await vi.waitFor(async () => expect(await reserved(id)).toBe(false), soon)
}
const reserved = async (id: string) => {
  const { mode, cleanup } = await look(ada, id)
  return mode === 'package' && cleanup.service_at === null
}

/** Makes an offer that is cancelled when the test ends. */
async function offered(fields: object = {}): Promise<Transfer> {
  const transfer = await offer(given(fields))
  onTestFinished(() => over(transfer))
  return transfer
}

describe('an offer is refused, and nothing is stored, when', () => {
  eachAttack(
    6,
    badNames.map((name) => [name] as [string]),
    (filename) => `the name is ${JSON.stringify(filename)}`,
    async (filename) => {
      const before = await count()
      const [status, code] = told(await propose({ filename }))
      expect([status, ['manifest_invalid', 'invalid_request']]).toEqual([422, expect.arrayContaining([code])])
      expect([await count(), await folders()]).toEqual([before, []])
    },
  )

  const whole = { offset: 0, size: 900, sha256: sha256(bytes) }
  const [one, two] = [
    { index: 0, offset: 0, size: 400, sha256: sha256(part(0)) },
    { index: 1, offset: 400, size: 500, sha256: sha256(bytes.subarray(400)) },
  ]
  eachAttack<[string, object]>(
    5,
    [
      ['parts overlap', { parts: [one, { ...two, offset: 300, size: 600 }] }],
      ['parts leave a gap', { parts: [one, { ...two, offset: 500, size: 400 }] }],
      ['parts end early', { parts: [one] }],
      ['parts exceed the size', { parts: [one, { ...two, size: 501 }] }],
      ['a part is listed twice', { parts: [one, one] }],
      ['parts are in another order', { parts: [two, one] }],
      ['a part is empty', { parts: [one, two, { index: 2, offset: 900, size: 0, sha256: sha256(bytes) }] }],
      [
        'an empty file has two empty parts',
        {
          size: 0,
          sha256: emptySha256,
          parts: [0, 1].map((index) => ({ index, offset: 0, size: 0, sha256: emptySha256 })),
        },
      ],
      ['a part has a negative size', { parts: [one, { ...two, size: -500 }] }],
      ['a part exceeds the size limit', { size: 2 ** 27, parts: [{ ...whole, index: 0, size: 2 ** 27 }] }],
      ['there is no part', { parts: [] }],
      ['there are more parts than there may be', { parts: Array.from({ length: 1025 }, () => one) }],
      ['the only part is another file', { parts: [{ ...whole, index: 0, sha256: sha256(part(0)) }] }],
      ['the hash is in capitals', { sha256: sha256(bytes).toUpperCase() }],
      ['the hash is short', { sha256: sha256(bytes).slice(1) }],
      ['the size is negative', { size: -1 }],
      ['the size is not a whole number', { size: 899.5 }],
      ['the size is not a safe integer', { size: 2 ** 60 }],
      ['it has a media type, which is no field', { media_type: 'text/html' }],
      ['the mode is unknown', { mode: 'tunnel' }],
      ['it goes to its sender', { recipient_agent_id: 'own' }],
    ],
    (what) => what,
    async (_, fields) => {
      const before = await count()
      const own = 'recipient_agent_id' in fields ? { recipient_agent_id: ada.id } : {}
      const [status, code] = told(await propose({ ...fields, ...own }))
      expect([status, ['manifest_invalid', 'invalid_request']]).toEqual([422, expect.arrayContaining([code])])
      expect([await count(), await folders()]).toEqual([before, []])
    },
  )
})

test.each(goodNames.map((name) => [name]))('the name %j is accepted unchanged', async (filename) => {
  const transfer = await offered({ filename, mode: 'direct' })
  expect((await look(ben, transfer.id)).filename).toBe(filename)
})

describe('package space', () => {
  test('is sufficient for a package of the limit, and not for one byte more', async () => {
    const longer = fileOf(1001)
    const body = await offerBody({ from: ada, to: ben, bytes: longer })
    expect(told(await ada.call({ target: '/api/v1/transfers', body }))).toEqual([422, 'invalid_request'])
    const direct = await ada.ok<Transfer>({
      target: '/api/v1/transfers',
      body: { ...body, mode: 'direct' },
    })
    await over(direct)
    await over(await offer({ from: ada, to: ben, bytes: fileOf(1000) }))
  })

  test('is reserved by offers, also by simultaneous ones, and freed once the bytes are deleted', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => propose({})))
    const taken = answers.filter(({ status }) => status === 200).map(({ json }) => json as Transfer)
    expect(taken).toHaveLength(2)
    for (const reply of answers.filter(({ status }) => status !== 200))
      expect([...told(reply), reply.headers['retry-after']]).toEqual([503, 'capacity_reached', '60'])
    for (const transfer of taken) await over(transfer)
    await over(await offer(given()))
  })

  const limitOf = ({ json }: Reply) => (json as { details?: { limit?: string } }).details?.limit

  test('is left for others by one sender, however much it offers without an acceptance', async () => {
    const taken = [await offer(given()), await offer(given())]
    const refused = await propose({})
    expect([...told(refused), limitOf(refused)]).toEqual([503, 'capacity_reached', 'sender_packages_bytes'])
    expect(refused.text).toContain('use 1800 of the 2000 bytes that one sender may use')
    const body = await offerBody({ from: ben, to: ada, bytes: fileOf(700) })
    const other = await ben.ok<Transfer>({ target: '/api/v1/transfers', body })
    const second = await ben.call({ target: '/api/v1/transfers', body })
    expect([...told(second), limitOf(second)]).toEqual([503, 'capacity_reached', 'packages_bytes'])
    await over(await offer(given({ mode: 'direct' })))
    for (const transfer of [...taken, other]) await over(transfer)
    await over(await offer(given()))
  })
})

describe('a part', () => {
  test('is found under its plain number only', async () => {
    const transfer = await offered()
    const others = [
      '3',
      '1023',
      '1024',
      '9999',
      '-1',
      '+0',
      '00',
      '01',
      '1e0',
      '0x0',
      '1.0',
      '٠',
      '%30',
      '0%2F1',
      '',
      ' 0',
    ]
    for (const index of others) {
      const target = `/api/v1/transfers/${transfer.id}/package/parts/${encodeURI(index)}`
      const put = await ada.call({ method: 'PUT', target, body: part(0), key: null })
      const get = await ben.call({ target })
      for (const { status } of [put, get])
        expect([index, [401, 404, 409, 422].includes(status)]).toEqual([index, true])
    }
    expect((await look(ada, transfer.id)).package).toMatchObject({ stored_parts: 0 })
  })

  test('with other bytes, another length, or no stated length is refused and not stored', async () => {
    const transfer = await offered()
    const target = `/api/v1/transfers/${transfer.id}/package/parts/0`
    const other = Buffer.from(part(0)).fill(7, 399)
    expect(told(await putOther(ada, transfer.id, 0, part(0), other))).toEqual([422, 'part_mismatch'])
    expect(told(await putOther(ada, transfer.id, 0, part(0), bytes))).toEqual([422, 'part_mismatch'])
    expect(told(await putOther(ada, transfer.id, 0, part(0), part(2)))).toEqual([422, 'part_mismatch'])
    const chunked = { 'Transfer-Encoding': 'chunked' }
    const unsaid = await ada.call({ method: 'PUT', target, body: part(0), key: null, override: chunked })
    expect(unsaid.status).toBeGreaterThanOrEqual(400)
    expect((await look(ada, transfer.id)).package).toMatchObject({ stored_parts: 0 })
    expect(told(await finalize(ada, transfer.id))).toEqual([409, 'state_conflict'])
  })

  test('that is refused has left no file in the folder when its answer arrives', async () => {
    const transfer = await offered()
    const other = randomBytes(400)
    expect((await putPart(ada, transfer.id, 1, part(1))).status).toBe(200)
    expect(told(await putOther(ada, transfer.id, 0, part(0), other))).toEqual([422, 'part_mismatch'])
    expect(await isStored(transfer.id, other)).toBe(false)
    for (const index of [0, 2]) expect((await putPart(ada, transfer.id, index, part(index))).status).toBe(200)
    expect((await finalize(ada, transfer.id)).status).toBe(200)
  })

  test('that is sent twice simultaneously is stored once', async () => {
    const transfer = await offered()
    const replies = await Promise.all(Array.from({ length: 4 }, () => putPart(ada, transfer.id, 0, part(0))))
    const stored = replies.filter(
      ({ status, json }) => status === 200 && (json as { duplicate: boolean }).duplicate === false,
    )
    expect(stored).toHaveLength(1)
    for (const reply of replies.filter(({ status }) => status !== 200))
      expect(told(reply)).toEqual([409, 'transfer_busy'])
    expect((await look(ada, transfer.id)).package).toMatchObject({ stored_parts: 1 })
  })

  test('after the end of the upload is checked and changes nothing', async () => {
    const transfer = await offered()
    for (const index of [0, 1, 2]) await putPart(ada, transfer.id, index, part(index))
    const ends = await Promise.all(Array.from({ length: 3 }, () => finalize(ada, transfer.id)))
    const done = ends.filter(({ status }) => status === 200)
    expect(done.length).toBeGreaterThan(0)
    for (const reply of ends.filter(({ status }) => status !== 200))
      expect(told(reply)).toEqual([409, 'transfer_busy'])
    expect(await kindsOf(transfer.id, 'transfer.uploaded')).toHaveLength(1)
    expect((await putPart(ada, transfer.id, 0, part(0))).json).toMatchObject({ duplicate: true })
    expect(told(await putOther(ada, transfer.id, 0, part(0), part(1)))).toEqual([422, 'part_mismatch'])
    await act(ben, transfer.id, 'accept')
    const file = await ben.call({ target: `/api/v1/transfers/${transfer.id}/package/file` })
    expect(file.bytes.equals(bytes)).toBe(true)
  })
})

async function kindsOf(id: string, kind: string): Promise<unknown[]> {
  const { audit } = await bridge.owner.ok<{ audit: { kind: string }[] }>({
    target: `/api/admin/projects/${bridge.project.id}/audit?subject_id=${id}&limit=100`,
  })
  return audit.filter((record) => record.kind === kind)
}

describe('a receipt', () => {
  const receipt = { size: 900, sha256: sha256(bytes) }

  test.each<[string, object]>([
    ['another size', { ...receipt, size: 899 }],
    ['another hash', { ...receipt, sha256: sha256(part(0)) }],
    ['the hash of nothing', { size: 0, sha256: sha256(Buffer.alloc(0)) }],
  ])('of %s completes nothing, before and after the right one', async (_, wrong) => {
    const transfer = await offered()
    await upload(ada, transfer, bytes)
    await act(ben, transfer.id, 'accept')
    expect(told(await act(ben, transfer.id, 'receipt', wrong))).toEqual([422, 'receipt_mismatch'])
    expect(await look(ada, transfer.id)).toMatchObject({ state: 'accepted', receipt: null })
    expect(existsSync(folderOf(transfer.id))).toBe(true)
    const right = await Promise.all([1, 2, 3].map(() => act(ben, transfer.id, 'receipt', receipt)))
    expect(right.map(told)).toEqual(right.map(() => [200, undefined]))
    expect(told(await act(ben, transfer.id, 'receipt', wrong))).toEqual([422, 'receipt_mismatch'])
    expect(await look(ada, transfer.id)).toMatchObject({ state: 'verified', receipt })
    expect(await kindsOf(transfer.id, 'transfer.verified')).toHaveLength(1)
    await gone(transfer.id)
  })
})

describe('the owner', () => {
  const endpoint = 'https://seen-by-nobody.example'
  const token = 'S'.repeat(43)
  const admin = () => `/api/admin/projects/${bridge.project.id}/transfers`
  const steps: [TransferState, 'package' | 'direct', ...string[]][] = [
    ['offered', 'package'],
    ['accepted', 'package', 'accept'],
    ['offered', 'direct'],
    ['accepted', 'direct', 'accept'],
  ]

  async function standing(mode: string, verbs: string[]): Promise<Transfer> {
    const transfer = await offered({ mode })
    const expires_at = new Date(bridge.clock().getTime() + 600_000).toISOString()
    if (mode === 'package') await upload(ada, transfer, bytes)
    else await act(ada, transfer.id, 'secret', { endpoint, token, expires_at, helper_mode: 'download' })
    for (const verb of verbs) await act(ben, transfer.id, verb)
    return transfer
  }

  test.each(steps)(
    'cancels a transfer that is %s in mode %s, and its bytes and its secret are deleted',
    async (state, mode, ...verbs) => {
      const { id } = await standing(mode, verbs)
      const one = `${admin()}/${id}`
      const before = await bridge.owner.call({ target: one })
      expect(before.json).toMatchObject({ state, mode })
      const cancelled = await bridge.owner.call({ target: `${one}/cancel`, body: { reason: 'enough' } })
      expect(cancelled.json).toMatchObject({ state: 'cancelled', offer: { endpoint_ready: false } })
      const list = await bridge.owner.call({ target: `${admin()}?limit=100` })
      for (const { text } of [before, cancelled, list])
        expect([text.includes('seen-by-nobody'), text.includes(token)]).toEqual([false, false])
      if (mode === 'package') await gone(id)
      expect(told(await ben.call({ target: `/api/v1/transfers/${id}/secret` }))).toEqual(
        mode === 'direct' ? [410, 'offer_expired'] : [409, 'state_conflict'],
      )
      expect(told(await ben.call({ target: `/api/v1/transfers/${id}/package/file` }))).toEqual([
        409,
        'state_conflict',
      ])
      expect(told(await putPart(ada, id, 0, part(0)))).toEqual([409, 'state_conflict'])
      for (const by of [ada, ben]) expect(await look(by, id)).toMatchObject({ state: 'cancelled' })
    },
  )

  test.each<[TransferState, 'ada' | 'ben', string, number]>([
    ['declined', 'ben', 'decline', 409],
    ['cancelled', 'ada', 'cancel', 200],
  ])('changes nothing of a transfer that is %s', async (state, by, verb, status) => {
    const { id } = await offered()
    await act({ ada, ben }[by], id, verb)
    expect((await bridge.owner.call({ target: `${admin()}/${id}/cancel`, body: {} })).status).toBe(status)
    expect(await look(ada, id)).toMatchObject({ state })
  })
})
