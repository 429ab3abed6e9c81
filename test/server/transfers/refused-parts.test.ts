/**
 * A part that the node refuses before its body has ended. The node reads the rest of the body, so the next
 * request of the connection is answered. A proxy sends requests of other clients on it. Contract §9 "Package
 * store".
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { offer } from '../../support/files.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { RawConnection, requestText } from '../../support/raw-client.ts'

const bytes = randomBytes(900_000)

let store: ObjectStore
let bridge: TestBridge
beforeAll(async () => {
  store = await startObjectStore()
  bridge = await startBridge({ settings: store.settings(), environment: testKeys })
})
afterAll(async () => {
  await bridge.close()
  await store.close()
})

test('a part is refused because the store is gone, and the next request is answered', async () => {
  const { ada, ben } = bridge
  const { id } = await offer({ from: ada, to: ben, bytes })
  store.faults = { cutAfter: (_, count) => count > 100_000 }
  const target = `/api/v1/transfers/${id}/package/parts/0`
  const headers = [
    ...ada.sign({ method: 'PUT', target, body: bytes, key: null }, bytes),
    ['Connection', 'keep-alive'] as const,
    ['Content-Length', String(bytes.length)] as const,
  ]
  const connection = new RawConnection(ada.baseUrl).send(requestText({ method: 'PUT', target, headers }))
  let sent = 200_000
  connection.send(bytes.subarray(0, sent))
  // The node notices the end of its connection to the store with the next bytes.
  for (; connection.text === '' && sent < 800_000; sent += 1000) {
    connection.send(bytes.subarray(sent, sent + 1000))
    await sleep(20)
  }
  expect((await connection.replies(1)).map(({ status }) => status)).toEqual([503])
  connection.send(bytes.subarray(sent)).send(requestText({ target: '/api/health' }))
  expect((await connection.replies(2)).map(({ status }) => status)).toEqual([503, 200])
  connection.leave()
})
