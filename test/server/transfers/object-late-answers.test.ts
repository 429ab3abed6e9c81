/** Finalize and an object store that begins to answer after the node has given it up. Contract §9 "Package store". */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { finalize, offer, putPart, told } from '../../support/files.ts'
import { startObjectStore, testKeys } from '../../support/object-store.ts'
import { soon } from '../../support/waits.ts'

const partSize = 300_000
const bytes = randomBytes(2 * partSize)

test('leave no connection of the node to the store', async () => {
  // On a busy machine a sound store may need seconds. Only a store that stalls gets a short limit.
  const packagePace = { progressBytes: 64 * 1024, progressMs: 60_000 }
  const store = await startObjectStore()
  onTestFinished(() => store.close())
  const bridge = await startBridge({ settings: store.settings(), environment: testKeys, packagePace })
  onTestFinished(() => bridge.close())
  const { ada, ben } = bridge
  const { id } = await offer({ from: ada, to: ben, bytes, partSize })
  for (const index of [0, 1])
    await putPart(ada, id, index, bytes.subarray(index * partSize, (index + 1) * partSize))

  const late = Promise.withResolvers<undefined>()
  const sockets: Socket[] = []
  packagePace.progressMs = 300
  store.faults = {
    before: ({ verb, key }, socket) => {
      if (verb !== 'GET' || !key.includes(id)) return undefined
      sockets.push(socket)
      return late.promise
    },
    // The answer never ends, so the store itself keeps the connection open.
    beforeChunk: async ({ key }) => (key.includes(id) ? new Promise(() => {}) : undefined),
  }
  // On a busy machine the node may give up before its request has reached the store.
  do expect(told(await finalize(ada, id))).toEqual([503, 'unavailable'])
  while (sockets.length === 0)
  late.resolve(undefined)
  await vi.waitFor(() => expect(sockets.filter(({ destroyed }) => !destroyed)).toEqual([]), soon)
})
