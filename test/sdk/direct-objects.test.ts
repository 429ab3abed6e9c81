/** Direct transfers at a node that keeps packages in an object store: no byte of them goes there. Contract §9. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { bytes, directStage } from '../support/direct-stage.ts'
import { offer, upload } from '../support/files.ts'
import { type Call, type ObjectStore, startObjectStore, testKeys } from '../support/object-store.ts'

let store: ObjectStore
const calls: Call[] = []
afterAll(() => store?.close())
const stage = directStage(async () => {
  store = await startObjectStore()
  store.faults = { before: (call) => void calls.push(call) }
  return { settings: store.settings(), environment: testKeys }
})

/** Requests about the bytes of a transfer. The node also asks every ten seconds whether the store answers. */
const about = (id: string) => calls.filter(({ key }) => key.includes(id))

test('a direct transfer is verified without a request to the store', async () => {
  const { transfer, ...place } = await stage.offered()
  const { start } = stage.serving(place, () => ({}))
  const { signal } = stage.untilTestEnds()
  const served = stage.serve(transfer.id, start)
  const to = join(stage.folder, 'report.pdf')
  const received = await stage.ben.transfers.receive(transfer.id, to, { allowPlainHttp: true, signal })
  expect(received.transfer.state).toBe('verified')
  expect((await served).state).toBe('verified')
  expect((await readFile(to)).equals(bytes)).toBe(true)
  expect(about(transfer.id)).toEqual([])
})

test('control: a package goes there', async () => {
  const { ada, ben } = stage.node
  const transfer = await offer({ from: ada, to: ben, bytes })
  await upload(ada, transfer, bytes)
  expect(about(transfer.id)).not.toEqual([])
})
