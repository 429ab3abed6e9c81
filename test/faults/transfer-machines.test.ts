/**
 * Machines whose clock is wrong, and connections that break on them: an end is judged by the node's time. Contract §9.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Bridge, ServingHelper } from '../../sdk/index.ts'
import { bridgeOf } from '../sdk/people.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { describeBytes, fileOf } from '../support/files.ts'
import { openWire, type Wire } from './wire.ts'

let node: TestBridge
let wire: Wire
let folder: string
const bytes = fileOf(200_000)

beforeAll(async () => {
  node = await startBridge()
  wire = await openWire(() => Number(new URL(node.url).port))
  folder = await mkdtemp(join(tmpdir(), 'bridge-machines-'))
  await writeFile(join(folder, 'report.pdf'), bytes)
})
afterAll(async () => {
  await wire.close()
  await rm(folder, { recursive: true, force: true })
  await node.close()
})

/** An agent on a machine whose clock is so many seconds ahead. */
function on(agent: 'ada' | 'ben', secondsAhead: number): Bridge {
  const clock = Object.assign(() => new Date(node.clock().getTime() + secondsAhead * 1000), node.clock)
  return bridgeOf({ ...node, url: wire.url, clock }, node[agent])
}

const day = 86_400

describe.each([
  ['two days ahead', 2 * day],
  ['two days behind', -2 * day],
])('machines that are %s', (_, seconds) => {
  test('go on after a broken connection, in both directions', async () => {
    const sender = on('ada', seconds)
    const recipient = on('ben', seconds)
    try {
      let cuts = 0
      const act = async () => {
        cuts += 1
      }
      void wire.arm({ step: 'PUT /api/v1/transfers/{id}/package/parts/0 #1', moment: 'half', act })
      const { id } = await sender.transfers.send(join(folder, 'report.pdf'), { to: 'ben' })
      void wire.arm({ step: 'GET /api/v1/transfers/{id}/package/parts/0 #1', moment: 'half', act })
      const { path } = await recipient.transfers.receive(id, join(folder, `received-${seconds}`))
      expect(cuts).toBe(2)
      expect((await readFile(path)).equals(bytes)).toBe(true)
    } finally {
      await sender.close()
      await recipient.close()
    }
  })
})

test.each([-250, -1, 1, 25, 2 * day])(
  'a helper on a machine that is %d seconds ahead deposits an end that the node takes',
  async (seconds) => {
    const sender = on('ada', seconds)
    try {
      const address = await sender.directory.address('ben')
      const input = { ...address, filename: 'report.pdf', ...describeBytes(bytes) }
      const { id } = await sender.transfers.offer({ ...input, mode: 'direct', encryption: 'none' })
      const ahead = node.clock().getTime() + seconds * 1000
      const start = async (): Promise<ServingHelper> => ({
        endpoint: 'https://abc.example',
        token: 'T'.repeat(43),
        expiresAt: new Date(ahead + 1_800_000).toISOString(),
        ended: new Promise(() => {}),
        stop: async () => {},
      })
      let endpoint = ''
      const onDeposited = (deposited: string) => {
        endpoint = deposited
        void sender.transfers.cancel(id)
      }
      expect((await sender.transfers.serve(id, start, { onDeposited })).state).toBe('cancelled')
      expect(endpoint).toBe('https://abc.example')
    } finally {
      await sender.close()
    }
  },
)
