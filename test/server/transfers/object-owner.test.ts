/**
 * A prefix of an object store belongs to one installation. A node that finds the mark of another one removes
 * nothing there. Contract §9 "Package store".
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { openObjectPackages } from '../../../server/package-store/objects/open.ts'
import type { ObjectPlace } from '../../../server/packages-place.ts'
import { type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { soon } from '../../support/waits.ts'

let store: ObjectStore
beforeAll(async () => {
  store = await startObjectStore()
})
afterAll(() => store.close())
afterEach(() => {
  store.faults = {}
})

/** Opens the store as a node does that no client uses. */
async function opened(prefix: string, serverId: string) {
  const { packagesPlace } = readConfig({ data: '/nowhere', ...store.settings(prefix) }, testKeys)
  const unused = () => Promise.reject(new Error('unused'))
  const failures: unknown[] = []
  const packages = await openObjectPackages({
    ...{ place: packagesPlace as ObjectPlace, serverId, random: randomBytes, read: unused, write: unused },
    processMs: () => performance.now(),
    onFailure: (error) => failures.push(error),
  })
  onTestFinished(() => packages.close())
  return { packages, failures }
}

const put = (key: string, text: string, ageMs = 0) =>
  void store.objects.set(key, { bytes: Buffer.from(text), changedAt: new Date(Date.now() - ageMs) })

test('a node that finds the mark of another installation removes nothing, until the mark is its own', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const [own, other] = [randomUUID(), randomUUID()]
  const { packages, failures } = await opened('shared', own)
  const stray = '00000000-0000-7000-8000-000000000001'
  const key = `shared/packages/${stray}/0-${'a'.repeat(64)}`
  put(key, 'x', 3_700_000)
  expect(await packages.stored()).toEqual([stray])

  put('shared/agent-bridge', other)
  vi.advanceTimersByTime(10_000)
  await vi.waitFor(() => expect(failures).toHaveLength(1), soon)
  expect(String(failures[0])).toContain(`it holds the packages of another installation (${other})`)
  expect(await packages.stored()).toEqual([])

  put('shared/agent-bridge', own)
  vi.advanceTimersByTime(10_000)
  await vi.waitFor(async () => expect(await packages.stored()).toEqual([stray]), soon)
})

test('of two installations that start at the same time, the one whose mark is replaced is refused', async () => {
  const other = randomUUID()
  store.faults = {
    afterPut: ({ key }) => {
      if (key === 'both/agent-bridge') put(key, other)
      return undefined
    },
  }
  await expect(opened('both', randomUUID())).rejects.toThrow(
    `it holds the packages of another installation (${other})`,
  )
})

test('tries of a store that deletes nothing leave one object, which the next one that succeeds removes', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  store.faults = {
    before: ({ verb }) => (verb === 'DELETE' ? { status: 500, code: 'InternalError' } : undefined),
  }
  const { failures } = await opened('tried', randomUUID())
  for (const count of [1, 2, 3]) {
    await vi.waitFor(() => expect(failures).toHaveLength(count), soon)
    expect(left('tried/')).toEqual(['tried/agent-bridge', expect.stringMatching(/^tried\/probe-/)])
    if (count === 3) store.faults = {}
    vi.advanceTimersByTime(10_000)
  }
  await vi.waitFor(() => expect(left('tried/')).toEqual(['tried/agent-bridge']), soon)
})

const left = (prefix: string) => [...store.objects.keys()].filter((key) => key.startsWith(prefix)).sort()
