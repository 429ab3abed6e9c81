/**
 * Any one process of three nodes, HAProxy, PostgreSQL with its standby and the object store is killed at a
 * random moment of the full story. No user waits two seconds longer than usual, and no acknowledged effect is
 * lost. `BRIDGE_CLUSTER_KILLS=500` is the number of kills. Without it the test is skipped, because its bounds need
 * a machine without other work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chanceFrom } from '../../support/chance.ts'
import { lacking } from '../lab/cluster/harness.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { type Round, toldOf, worstStalls } from '../lab/cluster/stalls.ts'
import { killOne, type Victim, victims } from '../lab/cluster/victims.ts'

const long = process.env.BRIDGE_CLUSTER_KILLS
const kills = Number(long ?? 0)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const stallWithinMs = 2000
const why = lacking || (long === undefined ? 'BRIDGE_CLUSTER_KILLS' : '')

describe.skipIf(why !== '')(`kills under the full story (seed ${seed}) ${why}`, () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await Scene.start({ seed })
  })
  afterAll(() => scene?.close())

  test(`${kills} kills cost no user more than two seconds and no acknowledged effect`, async () => {
    const chance = chanceFrom(seed)
    await scene.plays(8)
    const rounds: Round[] = []
    for (let round = 0; round < kills; round += 1) {
      const victim = victims[round % victims.length] as Victim
      await sleep(chance() * 600)
      const fromMs = performance.now()
      await killOne(scene.harness, victim, chance, () => scene.plays(1))
      await scene.plays(2)
      rounds.push({ victim, fromMs, toMs: performance.now() })
    }
    const { wrong } = await scene.end()
    process.stderr.write(`${wrong.join('\n')}\n`)
    const worst = worstStalls(scene.steps, rounds)
    for (const [victim, stall] of worst) process.stderr.write(`${victim}: ${toldOf(stall)}\n`)
    expect(wrong).toEqual([])
    for (const [victim, { ms }] of worst) expect(ms, victim).toBeLessThan(stallWithinMs)
  }, 3_600_000)
})
