/** The object store of the harness keeps what it has acknowledged when it is killed, and meets faults by name. */
import { createHash, randomBytes } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createObjectClient } from '../../../server/package-store/objects/client.ts'
import { objectPlaceOf } from '../../../server/packages-place.ts'
import { testKeys } from '../../support/object-store.ts'
import { ObjectsProcess } from '../lab/cluster/objects.ts'

async function startStore(): Promise<ObjectsProcess> {
  const store = await ObjectsProcess.start()
  onTestFinished(() => store.close())
  return store
}

/** Requests over connections that no earlier kill has broken. */
function requestsTo({ settings }: ObjectsProcess) {
  const { packages, packages_endpoint: endpoint, packages_region: region } = settings
  const place = objectPlaceOf({ packages, endpoint, region }, testKeys)
  if (place === undefined) throw new Error('the settings name no bucket')
  const client = createObjectClient(place, 1)
  onTestFinished(() => client.close())
  return {
    put: (key: string, body: Buffer) =>
      client.put(key, { body, size: body.length, sha256: createHash('sha256').update(body).digest('hex') }),
    remove: (key: string) => client.remove(key),
    async get(key: string) {
      const chunks: Buffer[] = []
      for await (const chunk of await client.get(key)) chunks.push(chunk)
      return Buffer.concat(chunks)
    },
  }
}

test('acknowledged objects survive a kill, and removed ones stay away', async () => {
  const store = await startStore()
  const before = requestsTo(store)
  const bytes = randomBytes(200_000)
  await before.put('some/prefix/one.part', randomBytes(10))
  await before.put('some/prefix/one.part', bytes)
  await before.put('some/prefix/two', bytes)
  await before.remove('some/prefix/two')
  await store.kill()
  await expect(before.get('some/prefix/one.part')).rejects.toThrow()
  await store.restart()
  const { get } = requestsTo(store)
  expect((await get('some/prefix/one.part')).equals(bytes)).toBe(true)
  await expect(get('some/prefix/two')).rejects.toMatchObject({ status: 404 })
})

test('an object whose answer is lost is stored, and one that is refused is not', async () => {
  const store = await startStore()
  const bytes = randomBytes(200_000)
  await store.meets('loses answers')
  await expect(requestsTo(store).put('lost', bytes)).rejects.toThrow()
  expect((await requestsTo(store).get('lost')).equals(bytes)).toBe(true)
  for (const fault of ['answers 500', 'cuts uploads'] as const) {
    await store.meets(fault)
    await expect(requestsTo(store).put('refused', bytes)).rejects.toThrow()
    await store.meets('has no fault')
    await expect(requestsTo(store).get('refused')).rejects.toMatchObject({ status: 404 })
  }
})
