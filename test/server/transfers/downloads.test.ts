/**
 * A download whose transfer ends while its client reads nothing: the node closes the connection and the file,
 * and only then reports the bytes as removed. Contract §9 "bytes removed".
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Transfer } from '../../../sdk/contract/agent/transfers.ts'
import type { TestAgent } from '../../support/agent.ts'
import { eachAttack } from '../../support/attacks.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { openFiles, type StalledDownload, stalledDownload } from '../../support/downloads.ts'
import { act, look, told } from '../../support/files.ts'
import { packageBytes, packageSha256, partBytes, storeZeros } from '../../support/sparse-package.ts'
import { soon } from '../../support/waits.ts'

let bridge: TestBridge
beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const downloads: StalledDownload[] = []
afterEach(() => {
  for (const download of downloads.splice(0)) download.destroy()
})

async function accepted(from: TestAgent, to: TestAgent, fields: object = {}): Promise<Transfer> {
  const transfer = await storeZeros(bridge, { from, to, fields })
  await act(to, transfer.id, 'accept')
  return transfer
}

async function begun(by: TestAgent, id: string, what?: string): Promise<StalledDownload> {
  const download = await stalledDownload(by, id, what)
  downloads.push(download)
  return download
}

const removed = (by: TestAgent, id: string) =>
  vi.waitFor(async () => expect((await look(by, id)).cleanup.service_at).not.toBeNull(), soon)

describe('a download is cut off and its bytes are deleted when', () => {
  const receipt = { size: packageBytes, sha256: packageSha256 }
  const ends: [string, [number, string], (id: string) => Promise<unknown>][] = [
    ['the sender cancels', [409, 'state_conflict'], (id) => act(bridge.ada, id, 'cancel')],
    ['the recipient fails it', [409, 'state_conflict'], (id) => act(bridge.ben, id, 'fail')],
    [
      'another reader has verified it',
      [410, 'package_removed'],
      (id) => act(bridge.ben, id, 'receipt', receipt),
    ],
    [
      'the owner cancels',
      [409, 'state_conflict'],
      (id) =>
        bridge.owner.ok({
          target: `/api/admin/projects/${bridge.project.id}/transfers/${id}/cancel`,
          body: {},
        }),
    ],
    [
      'it expires',
      [410, 'offer_expired'],
      async () => {
        bridge.clock.advance(61)
        // A list stores the expiry, as maintenance does.
        await bridge.ada.ok({ target: '/api/v1/transfers' })
      },
    ],
  ]
  eachAttack<(typeof ends)[number]>(
    2,
    ends,
    (what) => what,
    async (_, refusal, end) => {
      const { ada, ben } = bridge
      const { id } = await accepted(ada, ben, { ttl_seconds: 60 })
      const both = [await begun(ben, id), await begun(ben, id)]
      await end(id)
      await removed(ada, id)
      expect(openFiles(id)).toBe(0)
      for (const { rest } of both) expect(await rest()).toBeLessThan(packageBytes / 2)
      expect(told(await ben.call({ target: `/api/v1/transfers/${id}/package/parts/3` }))).toEqual(refusal)
    },
  )

  test('its project is deleted', async () => {
    const { owner } = bridge
    const project = await owner.createProject('short')
    const [from, to] = [await bridge.agent('cy', project.id), await bridge.agent('di', project.id)]
    const { id } = await accepted(from, to)
    const { rest } = await begun(to, id)
    await owner.ok({ target: `/api/admin/projects/${project.id}/delete`, body: { confirm_name: 'short' } })
    await vi.waitFor(() => expect(openFiles(id)).toBe(0), soon)
    expect(await rest()).toBeLessThan(packageBytes / 2)
  })
})

test('an expiry is stored when it occurs, and the bytes are deleted', async () => {
  const { id } = await accepted(bridge.ada, bridge.ben, { ttl_seconds: 60 })
  bridge.clock.advance(59.5)
  bridge = await bridge.restart()
  // No list is requested, and fifteen seconds have not passed yet.
  await expect.poll(async () => (await look(bridge.ada, id)).cleanup.service_at).not.toBeNull()
  expect((await look(bridge.ben, id)).state).toBe('expired')
})

test('the end of one transfer does not affect a download of another', async () => {
  const { ada, ben } = bridge
  const [one, other] = [await accepted(ada, ben), await accepted(ada, ben)]
  await begun(ben, other.id)
  await act(ada, one.id, 'cancel')
  await removed(ada, one.id)
  expect(openFiles(other.id)).toBe(1)
  const target = `/api/v1/transfers/${other.id}/package/parts/59`
  expect((await ben.call({ target })).bytes).toHaveLength(partBytes)
  await act(ada, other.id, 'cancel')
})
