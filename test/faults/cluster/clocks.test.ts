/**
 * The clock of the database is set by an hour, forward and back, and those of the nodes by ten minutes while they
 * serve, under the full story of three nodes.
 * `BRIDGE_CLUSTER_FAULTS=100` is the number of times. Without it the tests are skipped, because a bound of the rules
 * needs a machine without other work.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Task } from '../../../sdk/contract/agent/tasks.ts'
import { agentAt } from '../../support/nodes.ts'
import { createTask, heldBy } from '../../support/tasks.ts'
import { lacking, longestMs } from '../lab/cluster/harness.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { isSkewed } from '../lab/cluster/skew.ts'
import { type Friends, makeFriends } from '../lab/cluster/wakes.ts'
import { claimsHaveTheirLease } from '../lab/task-lives.ts'

const rounds = Number(process.env.BRIDGE_CLUSTER_FAULTS ?? 0)
const why = lacking || (rounds === 0 ? 'BRIDGE_CLUSTER_FAULTS' : '')
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const hourMs = 3_600_000
const stepMs = 600_000

describe.skipIf(why !== '')(`three nodes whose database has a set clock (seed ${seed}) ${why}`, () => {
  let scene: Scene
  let friends: Friends
  beforeAll(async () => {
    scene = await Scene.start({ seed, standby: false, movesClock: true, pairs: 1 })
    friends = await makeFriends(scene.harness)
    await scene.plays(4)
  })
  afterAll(() => scene?.close())

  test(
    'a clock that is set by an hour refuses only requests with the old time, and ends no claim',
    async () => {
      const { harness } = scene
      const [ada, ben] = friends
      const { id } = await createTask(ada, ben, { claim_ttl_seconds: 3600 })
      const target = `/api/v1/tasks/${id}`
      const held = heldBy(await ben.ok<Task>({ target: `${target}/claim`, body: {} }))
      for (let round = 0; round < rounds; round += 1)
        for (const aheadMs of [hourMs, 0, -hourMs, 0]) {
          const oldMs = harness.now().getTime() - Date.now()
          await harness.setClock(aheadMs)
          for (const node of harness.nodes) {
            const late = agentAt(node, ada, () => new Date(Date.now() + oldMs))
            await expect.poll(async () => isSkewed(await late.call({ target: '/api/v1/peers' }))).toBe(true)
          }
          await scene.plays(1)
          for (const node of harness.nodes) {
            const there = agentAt(node, ben, harness.now)
            const { status, text } = await there.call({ target: `${target}/renew`, body: held })
            expect(status, text).toBe(200)
          }
        }
    },
    longestMs,
  )

  test(
    'a node whose clock is set by ten minutes refuses nothing, and ends no claim',
    async () => {
      const { harness } = scene
      const [ada, ben] = friends
      const { id } = await createTask(ada, ben, { claim_ttl_seconds: 300 })
      const target = `/api/v1/tasks/${id}`
      const held = heldBy(await ben.ok<Task>({ target: `${target}/claim`, body: {} }))
      for (let round = 0; round < rounds; round += 1)
        for (const node of harness.nodes)
          for (const aheadMs of [stepMs, -stepMs, 0]) {
            await node.setClock(aheadMs)
            await scene.plays(1)
            for (const each of harness.nodes) {
              const { status, text } = await agentAt(each, ben).call({
                target: `${target}/renew`,
                body: held,
              })
              expect(status, text).toBe(200)
            }
          }
    },
    longestMs,
  )

  test(
    'every rule holds over all of it',
    async () => {
      // The records of a claim have times of different settings.
      const { wrong, seen } = await scene.end({ without: [claimsHaveTheirLease] })
      process.stderr.write(`${wrong.join('\n')}\n`)
      expect(wrong).toEqual([])
      expect(seen.probes.length).toBeGreaterThan(20)
      expect(seen.replays.length).toBeGreaterThan(20)
    },
    longestMs,
  )
})
