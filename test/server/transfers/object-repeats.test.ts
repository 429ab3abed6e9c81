/**
 * A node repeats a request whose connection to the object store broke, so that nobody notices a store that starts
 * again. Contract §9 "Package store".
 */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { act, finalize, look, offer, putPart, told, upload } from '../../support/files.ts'
import { type Call, type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'

/** A part of the first size is sent when it is whole, one of the second while it arrives. */
const [small, long] = [700_000, 1_200_000]

let store: ObjectStore
let bridge: TestBridge
let ada: TestAgent
let ben: TestAgent
beforeAll(async () => {
  store = await startObjectStore()
  bridge = await startBridge({ settings: store.settings(), environment: testKeys })
  ada = bridge.ada
  ben = bridge.ben
})
afterAll(async () => {
  await bridge.close()
  await store.close()
})
afterEach(() => {
  store.faults = {}
})

interface Offered extends Transfer {
  readonly bytes: Buffer
}

async function offered(size: number): Promise<Offered> {
  const bytes = randomBytes(size)
  return { ...(await offer({ from: ada, to: ben, bytes })), bytes }
}

async function accepted(size: number): Promise<Offered> {
  const transfer = await offered(size)
  await upload(ada, transfer, transfer.bytes)
  await act(ben, transfer.id, 'accept')
  return transfer
}

const put = ({ id, bytes }: Offered) => putPart(ada, id, 0, bytes)
const download = ({ id }: Offered) => ben.call({ target: `/api/v1/transfers/${id}/package/file` })
const stored = async ({ id }: Offered) => (await look(ada, id)).package?.stored_parts
const callsFor = ({ id }: Offered, verb: string) =>
  store.calls.filter((call) => call.verb === verb && call.key.includes(id)).length

/** A fault that closes the connections of these requests for the first `times`, and the number that came. */
function closing(isMeant: (call: Call) => boolean, times: number) {
  const seen = { count: 0 }
  const before = (call: Call, socket: Socket) => {
    if (!isMeant(call)) return undefined
    seen.count += 1
    if (seen.count > times) return undefined
    socket.destroy()
    return new Promise<undefined>(() => {})
  }
  return { seen, before }
}

const isPut = ({ verb }: Call) => verb === 'PUT'
const isGet = ({ verb, key }: Call) => verb === 'GET' && key.includes('/packages/')

test('a store that is away for a moment is noticed by nobody', async () => {
  const transfer = await offered(small)
  const away = async <T>(act: () => Promise<T>): Promise<T> => {
    const port = Number(new URL(store.endpoint).port)
    await store.close()
    const answer = act()
    // The node asks meanwhile, and finds no store.
    await new Promise((resolve) => setTimeout(resolve, 400))
    store = await startObjectStore(port, store.objects)
    return answer
  }
  expect((await away(() => put(transfer))).json).toMatchObject({ duplicate: false })
  expect((await away(() => finalize(ada, transfer.id))).json).toMatchObject({ verified: true })
  await act(ben, transfer.id, 'accept')
  expect((await away(() => download(transfer))).bytes.equals(transfer.bytes)).toBe(true)
})

test.each([
  ['whose connection is closed', () => closing(isPut, 2)],
  [
    'whose answer is lost',
    () => {
      const seen = { count: 0 }
      const afterPut = () => {
        seen.count += 1
        return seen.count > 2 ? undefined : ('lost' as const)
      }
      return { seen, afterPut }
    },
  ],
])('a small part %s is sent again, and counts once', async (_, fault) => {
  const transfer = await offered(small)
  const { seen, ...faults } = fault()
  store.faults = faults
  expect((await put(transfer)).json).toMatchObject({ duplicate: false })
  expect(seen.count).toBe(3)
  expect(await stored(transfer)).toBe(1)
  expect((await finalize(ada, transfer.id)).json).toMatchObject({ verified: true })
})

test('a long part is repeated by its sender, because its bytes are gone', async () => {
  const transfer = await offered(long)
  const { seen, before } = closing(isPut, 1)
  store.faults = { before }
  expect(told(await put(transfer))).toEqual([503, 'unavailable'])
  expect([seen.count, await stored(transfer)]).toEqual([1, 0])
  expect((await put(transfer)).json).toMatchObject({ duplicate: false })
})

test('a store that stays away is told after fifteen repetitions', async () => {
  const transfer = await offered(small)
  const { seen, before } = closing(isPut, 100)
  store.faults = { before }
  const reply = await put(transfer)
  expect(told(reply)).toEqual([503, 'unavailable'])
  expect(reply.json).toMatchObject({ retry_after_ms: 250 })
  expect([seen.count, await stored(transfer)]).toEqual([16, 0])
})

test('an answer of the store is not repeated', async () => {
  const transfer = await offered(small)
  store.faults = { afterPut: () => ({ status: 503, code: 'SlowDown' }) }
  expect(told(await put(transfer))).toEqual([503, 'unavailable'])
  expect(callsFor(transfer, 'PUT')).toBe(1)
})

test('a transfer that is cancelled ends the repetitions', async () => {
  const transfer = await offered(small)
  const { seen, before } = closing(isPut, 100)
  store.faults = { before }
  const putting = put(transfer)
  await expect.poll(() => seen.count).toBeGreaterThan(1)
  expect((await act(ada, transfer.id, 'cancel')).json).toMatchObject({ state: 'cancelled' })
  expect(told(await putting)).toEqual([409, 'state_conflict'])
  const { count } = seen
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect([seen.count, count < 16]).toEqual([count, true])
})

test('a download that is closed before its answer is asked for again', async () => {
  const transfer = await accepted(small)
  const { seen, before } = closing(isGet, 2)
  store.faults = { before }
  expect((await download(transfer)).bytes.equals(transfer.bytes)).toBe(true)
  expect(seen.count).toBe(3)
})

/** Cuts the connection once, after some chunks of the object. */
function cutOnce(then: () => void = () => {}) {
  let chunks = 0
  return async (call: Call, socket: Socket) => {
    if (!isGet(call)) return
    chunks += 1
    if (chunks !== 5) return
    socket.destroy()
    then()
  }
}

test.each([
  ['a small file', small],
  ['a long file', long],
])('a download of %s that is cut in the middle goes on where it was', async (_, size) => {
  const transfer = await accepted(size)
  const before = callsFor(transfer, 'GET')
  store.faults = { beforeChunk: cutOnce() }
  expect((await download(transfer)).bytes.equals(transfer.bytes)).toBe(true)
  expect(callsFor(transfer, 'GET') - before).toBe(2)
})

test('a download goes not on with an object that was replaced meanwhile', async () => {
  const transfer = await accepted(small)
  const replace = () => {
    for (const [key, object] of store.objects)
      if (key.includes(transfer.id)) object.bytes = randomBytes(small)
  }
  store.faults = { beforeChunk: cutOnce(replace) }
  await expect(download(transfer)).rejects.toThrow()
  onTestFinished(() => act(ada, transfer.id, 'cancel').then(() => {}))
})
