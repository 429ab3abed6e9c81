/**
 * Downloads that take every connection for bytes to an object store delay neither removals nor the node's look
 * at the store. Contract §9 "Package store".
 */
import { randomBytes } from 'node:crypto'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connectionsFor } from '../../../server/package-store/objects/client.ts'
import { startBridge } from '../../support/bridge.ts'
import { act, look, offer, upload } from '../../support/files.ts'
import { startObjectStore, testKeys } from '../../support/object-store.ts'
import { soon } from '../../support/waits.ts'

/** So patient that no download ends by itself. */
const packagePace = { progressBytes: 64 * 1024, progressMs: 600_000 }

test('while downloads take all connections, packages are removed and the node stays ready', async () => {
  const store = await startObjectStore()
  onTestFinished(() => store.close())
  const bridge = await startBridge({ settings: store.settings(), environment: testKeys, packagePace })
  onTestFinished(() => bridge.close())
  const { ada, ben } = bridge
  const bytes = randomBytes(100_000)
  const sent = async () => {
    const transfer = await offer({ from: ada, to: ben, bytes })
    await upload(ada, transfer, bytes)
    await act(ben, transfer.id, 'accept')
    return transfer.id
  }
  const [held, other] = [await sent(), await sent()]

  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  const occupied = new Set<number>()
  store.faults = {
    beforeChunk: async ({ key }) => {
      if (!key.includes(held)) return
      occupied.add(occupied.size)
      await released
    },
  }
  const target = `/api/v1/transfers/${held}/package/parts/0`
  const downloads = Array.from({ length: connectionsFor.moves }, () =>
    ben.call({ target }).catch(() => undefined),
  )
  await vi.waitFor(() => expect(occupied.size).toBe(connectionsFor.moves), soon)

  await act(ada, other, 'cancel')
  await vi.waitFor(async () => expect((await look(ada, other)).package?.removed_at).not.toBeNull(), soon)
  const looks = () => store.calls.filter(({ key }) => key === 'some/prefix/agent-bridge').length
  const before = looks()
  await vi.waitFor(() => expect(looks()).toBeGreaterThan(before), soon)
  expect((await ben.call({ target: '/api/ready' })).status).toBe(200)

  release()
  await Promise.all(downloads)
})
