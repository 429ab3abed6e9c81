/** Parts of one package arrive through two nodes of one database and one object store, in any order. */
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { openPackages } from '../../../server/open-packages.ts'
import { openStore } from '../../../server/open-store.ts'
import { startBridge } from '../../support/bridge.ts'
import { act, finalize, look, offer, putPart, told } from '../../support/files.ts'
import { startObjectStore, testKeys } from '../../support/object-store.ts'
import { storeSettings } from '../../support/postgres.ts'

const partSize = 150_000
const bytes = randomBytes(3 * partSize)
const part = (index: number) => bytes.subarray(index * partSize, (index + 1) * partSize)

test('a package is sent, finalized and read through two nodes', async () => {
  const objects = await startObjectStore()
  onTestFinished(() => objects.close())
  const bridge = await startBridge({ settings: objects.settings(), environment: testKeys })
  onTestFinished(() => bridge.close())
  const { ada, ben, data } = bridge
  const transfer = await offer({ from: ada, to: ben, bytes, partSize })
  const { id } = transfer

  const settings = { data, ...storeSettings(data), ...objects.settings() }
  const clocks = { clock: () => new Date(), monotonicMs: () => performance.now(), random: randomBytes }
  const failures: unknown[] = []
  const fail = (error: unknown) => void failures.push(error)
  const config = readConfig(settings, testKeys)
  const store = await openStore(config, { ...clocks, onFatal: fail, onEffectError: fail })
  const other = await openPackages(config, {
    ...{ ...clocks, processMs: clocks.monotonicMs, pace: undefined, store, onFailure: fail },
  })
  onTestFinished(async () => {
    await other.close()
    await store.close()
  })
  const row = () =>
    store.reader.read((db) =>
      db.selectFrom('transfers').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
    )
  const { signal } = new AbortController()
  const send = async (index: number) => {
    const { received, record } = await other.receive(await row(), index, Readable.from([part(index)]), signal)
    const count = received.duplicate ? undefined : await store.writer.write(transfer.project_id, record)
    return { duplicate: received.duplicate, count }
  }

  expect((await putPart(ada, id, 2, part(2))).json).toMatchObject({ duplicate: false })
  expect(await send(0)).toEqual({ duplicate: false, count: 2 })
  expect(await send(2)).toEqual({ duplicate: true, count: undefined })
  expect((await putPart(ada, id, 0, part(0))).json).toMatchObject({ duplicate: true })
  expect(told(await finalize(ada, id))).toEqual([409, 'state_conflict'])
  expect((await putPart(ada, id, 1, part(1))).json).toMatchObject({ duplicate: false })
  expect(await other.committed(await row())).toEqual([0, 1, 2])
  expect(await other.finalize(await row(), signal)).toMatchObject({ verified: true })
  expect((await finalize(ada, id)).status).toBe(200)
  expect((await look(ada, id)).package).toMatchObject({ stored_parts: 3 })
  await act(ben, id, 'accept')
  const target = `/api/v1/transfers/${id}/package/file`
  expect((await ben.call({ target })).bytes.equals(bytes)).toBe(true)
  expect(failures).toEqual([])
})
