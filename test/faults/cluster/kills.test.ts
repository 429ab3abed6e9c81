/**
 * Any one process of three nodes, HAProxy, PostgreSQL with its standby and the object store is killed at a
 * random moment of the full story. No user waits two seconds longer than usual, and no acknowledged effect is
 * lost. If a node is killed, a wait that it had reconnects to another node within two seconds, and a message for it
 * arrives within one second more. `BRIDGE_CLUSTER_KILLS=500` is the number of kills, of which each process gets at least 20.
 * `BRIDGE_CLUSTER_VICTIM=node` kills only processes of that kind. Without the number the test is skipped, because
 * its bounds need a machine without other work. Two cores that are full make every request slow, with a fault or
 * without one. So the two writers beside the story and the observers pause for 100 ms after each result.
 * `BRIDGE_CLUSTER_WRITERS` and `BRIDGE_CLUSTER_PAUSE_MS` change that. The control is the same story without a kill,
 * after each twenty: its worst step tells whether the machine was quiet.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listenTransports } from '../../../sdk/delivery/transport-choice.ts'
import { chanceFrom } from '../../support/chance.ts'
import { lacking, longestMs } from '../lab/cluster/harness.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { type Round, toldOf, worstStalls } from '../lab/cluster/stalls.ts'
import { killOne, type Victim, victims } from '../lab/cluster/victims.ts'
import { type Return, toldOfReturns, Waiters } from '../lab/cluster/waiters.ts'

const long = process.env.BRIDGE_CLUSTER_KILLS
const kills = Number(long ?? 0)
const only = process.env.BRIDGE_CLUSTER_VICTIM
const killed = victims.filter((victim) => only === undefined || victim === only)
/** At least two: each writes to another one, and a lone one would write to the owner. */
const writers = Number(process.env.BRIDGE_CLUSTER_WRITERS || 2)
const pauseMs = Number(process.env.BRIDGE_CLUSTER_PAUSE_MS ?? 100)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const stallWithinMs = 2000
/** Kills from one control to the next. */
const controlEvery = 20
const backWithinMs = 2000
const heardWithinMs = 1000
const why = lacking || (long === undefined ? 'BRIDGE_CLUSTER_KILLS' : '')

const print = (line: string) => process.stderr.write(`${line}\n`)

const tell = (worst: ReturnType<typeof worstStalls>) => {
  for (const [victim, { kills: times, slow, stall }] of worst)
    print(`${victim}, ${times} kills, ${slow} over the bound: ${toldOf(stall)}`)
}

describe.skipIf(why !== '')(`kills under the full story (seed ${seed}) ${why}`, () => {
  let scene: Scene
  let waiters: Waiters
  beforeAll(async () => {
    scene = await Scene.start({ seed, writers, pauseMs })
    waiters = await Waiters.start(scene.harness)
  })
  afterAll(async () => {
    await waiters?.close()
    await scene?.close()
  })

  /** The control. A step that began before the last kill ends first. */
  const undisturbed = async (): Promise<Round> => {
    await scene.plays(1)
    const fromMs = performance.now()
    await scene.plays(3)
    return { victim: 'nobody', fromMs }
  }

  test(
    `${kills} kills cost no user more than two seconds and no acknowledged effect`,
    async () => {
      const chance = chanceFrom(seed)
      await scene.warmUp()
      const rounds: Round[] = []
      const returns: Return[] = []
      expect(killed).not.toEqual([])
      for (let round = 0; round < kills; round += 1) {
        const victim = killed[round % killed.length] as Victim
        await sleep(chance() * 600)
        const fromMs = performance.now()
        const meanwhile = () => scene.plays(1)
        if (victim === 'node') returns.push(await waiters.killNode(meanwhile))
        else await killOne(scene.harness, victim, chance, meanwhile)
        await scene.plays(2)
        print(`${victim}: ${Math.round(performance.now() - fromMs)} ms`)
        rounds.push({ victim, fromMs })
        if ((round + 1) % controlEvery > 0) continue
        rounds.push(await undisturbed())
        tell(worstStalls(scene.steps, rounds, stallWithinMs))
      }
      const { wrong } = await scene.end()
      print(wrong.join('\n'))
      const worst = worstStalls(scene.steps, rounds, stallWithinMs)
      tell(worst)
      for (const transport of listenTransports) print(toldOfReturns(returns, transport))
      expect(wrong).toEqual([])
      worst.delete('nobody')
      for (const [victim, { stall }] of worst) expect(stall.ms, victim).toBeLessThan(stallWithinMs)
      expect(returns.filter((each) => each.backMs >= backWithinMs)).toEqual([])
      expect(returns.filter((each) => each.heardMs >= heardWithinMs)).toEqual([])
    },
    longestMs,
  )
})
