/**
 * The answer that ends a package reports that its bytes are removed, and the space of its sender is free at
 * that time. If the bytes cannot be removed, the request is still answered, and the answer reports that.
 * Contract §9 "bytes removed".
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import {
  act,
  endAndRemove,
  fileOf,
  look,
  offer,
  offerBody,
  told,
  upload,
  whenRemoved,
} from '../../support/files.ts'

let bridge: TestBridge
const bytes = fileOf(900)
const settings = { package_bytes: '900', packages_bytes: '900', sender_packages_bytes: '900' }

beforeAll(async () => {
  bridge = await startBridge({ settings })
})
afterAll(() => bridge.close())

/** Makes an accepted transfer that takes all the space of the sender. */
async function accepted(): Promise<Transfer> {
  const { ada, ben } = bridge
  const transfer = await offer({ from: ada, to: ben, bytes })
  await upload(ada, transfer, bytes)
  await act(ben, transfer.id, 'accept')
  return transfer
}

const folder = () => join(bridge.data, 'packages')
const owned = (id: string) => `/api/admin/projects/${bridge.project.id}/transfers/${id}`
const setPair = (enabled: boolean) =>
  bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/pairings`,
    body: { agent_ids: [bridge.ada.id, bridge.ben.id], enabled },
  })

const removed = {
  package: { removed_at: expect.any(String) },
  cleanup: { service_at: expect.any(String) },
}

describe('the answer reports the bytes as removed, and their space is free, when', () => {
  const answer = async (by: 'ada' | 'ben', id: string, verb: string, body = {}) =>
    (await act(bridge[by], id, verb, body)).json as Transfer
  const ends: [string, (transfer: Transfer) => Promise<Transfer>][] = [
    ['the sender cancels', ({ id }) => answer('ada', id, 'cancel')],
    ['the recipient cancels', ({ id }) => answer('ben', id, 'cancel')],
    ['the recipient fails it', ({ id }) => answer('ben', id, 'fail')],
    ['the sender fails it', ({ id }) => answer('ada', id, 'fail')],
    ['it is verified', ({ id, size, sha256 }) => answer('ben', id, 'receipt', { size, sha256 })],
    ['the owner cancels', ({ id }) => bridge.owner.ok({ target: `${owned(id)}/cancel`, body: {} })],
    [
      'its pair is disabled',
      async ({ id }) => {
        await setPair(false)
        const seen = await bridge.owner.ok<Transfer>({ target: owned(id) })
        await setPair(true)
        return seen
      },
    ],
    [
      'a list finds it expired',
      async ({ id }) => {
        bridge.clock.advance(100_000)
        const { transfers } = await bridge.ada.ok<{ transfers: Transfer[] }>({
          target: '/api/v1/transfers?state=expired',
        })
        return transfers.find((each) => each.id === id) as Transfer
      },
    ],
  ]
  test.each(ends)('%s', async (_, end) => {
    let after = await end(await accepted())
    // An answer waits two seconds for the removal, which a busy machine may exceed.
    for (let again = 0; after.package?.removed_at === null && again < 3; again += 1) {
      await whenRemoved(bridge.ada, after)
      after = await end(await accepted())
    }
    const names = readdirSync(folder())
    expect(after).toMatchObject(removed)
    // The bytes themselves may still be freed.
    expect(names.filter((name) => !name.endsWith('.removed'))).toEqual([])
    const next = await offer({ from: bridge.ada, to: bridge.ben, bytes })
    expect(await endAndRemove(bridge.ben, next.id, 'decline')).toMatchObject(removed)
  })
})

test('files that a crash left of a removal block no other removal, and are deleted at the next start', async () => {
  const { id } = await accepted()
  const left = join(folder(), `${id}.0.removed`)
  mkdirSync(left)
  writeFileSync(join(left, 'package'), bytes)
  expect(await endAndRemove(bridge.ada, id, 'cancel')).toMatchObject(removed)
  expect(readdirSync(folder())).toEqual([`${id}.0.removed`])
  bridge = await bridge.restart()
  await expect.poll(() => readdirSync(folder())).toEqual([])
})

const isRoot = process.geteuid?.() === 0 && process.platform === 'linux'

test.skipIf(!isRoot)(
  'as root: if the bytes cannot be removed, the transfer still ends, and repeating the request removes them',
  async () => {
    const { id } = await accepted()
    const place = join(folder(), id)
    // A mount point can be neither moved nor removed.
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place])
    onTestFinished(() => void spawnSync('umount', ['-l', place]))
    expect(mounted.status).toBe(0)
    const ended = await act(bridge.ada, id, 'cancel')
    expect(ended.json).toMatchObject({ state: 'cancelled', package: { removed_at: null } })
    const body = await offerBody({ from: bridge.ada, to: bridge.ben, bytes })
    const refused = await bridge.ada.call({ target: '/api/v1/transfers', body })
    expect(told(refused)).toEqual([503, 'capacity_reached'])
    spawnSync('umount', [place])
    expect(await endAndRemove(bridge.ada, id, 'cancel')).toMatchObject(removed)
    expect(existsSync(place)).toBe(false)
    expect(await look(bridge.ben, id)).toMatchObject(removed)
  },
)
