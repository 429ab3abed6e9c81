/**
 * Three nodes that reach the database through PgBouncer with pooling of transactions, under the full story: killed
 * nodes and cut connections. `BRIDGE_CLUSTER_FAULTS=100` is the number of each fault. Without it the tests are
 * skipped, because their bounds need a machine without other work.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chanceFrom, pick } from '../../support/chance.ts'
import { untilPeers } from '../../support/nodes.ts'
import { lackingPooler, longestMs } from '../lab/cluster/harness.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { makeFriends, wakeMs, wakeWithinMs } from '../lab/cluster/wakes.ts'

const rounds = Number(process.env.BRIDGE_CLUSTER_FAULTS ?? 0)
const why = lackingPooler || (rounds === 0 ? 'BRIDGE_CLUSTER_FAULTS' : '')
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))

describe.skipIf(why !== '')(`three nodes behind PgBouncer (seed ${seed}) ${why}`, () => {
  const chance = chanceFrom(seed)
  let scene: Scene
  beforeAll(async () => {
    scene = await Scene.start({ seed, standby: false, pooler: true, pairs: 1 })
    await scene.plays(4)
  })
  afterAll(() => scene?.close())

  test(
    'a wait at another node gets its message within a second, without notifications',
    async () => {
      for (const node of scene.harness.nodes) await untilPeers(node, 'polled')
      const pair = await makeFriends(scene.harness)
      for (let round = 0; round < rounds; round += 1)
        expect(await wakeMs(scene.harness, round % 3, (round + 1) % 3, pair)).toBeLessThan(wakeWithinMs)
    },
    longestMs,
  )

  test(
    'a killed node and connections that are cut at COMMIT leave one effect for each key',
    async () => {
      const { harness } = scene
      for (let round = 0; round < rounds; round += 1) {
        await harness.killNode(pick(chance, [0, 1, 2]) ?? 0, () => scene.plays(1))
        for (const when of ['before', 'answer'] as const) {
          const link = pick(chance, harness.links)
          const before = link?.cuts ?? 0
          link?.cutAtCommit(when)
          await expect.poll(() => link?.cuts).toBe(before + 1)
          await scene.plays(1)
        }
      }
    },
    longestMs,
  )

  test(
    'every rule holds over all of it',
    async () => {
      const { wrong, seen } = await scene.end()
      process.stderr.write(`${wrong.join('\n')}\n`)
      expect(wrong).toEqual([])
      expect(seen.probes.length).toBeGreaterThan(20)
      expect(seen.replays.length).toBeGreaterThan(20)
    },
    longestMs,
  )
})
