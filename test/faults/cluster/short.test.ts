/**
 * One fault of each kind under the full story of three nodes: a killed node, a killed HAProxy, a cut link to the
 * database and a suspended database. The rules hold, without bounds on time. `faults.test.ts` and `kills.test.ts`
 * are the long forms, with bounds.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { chanceFrom, pick } from '../../support/chance.ts'
import { lackingPrograms } from '../lab/cluster/harness.ts'
import { lanesMakeProgress } from '../lab/cluster/rules.ts'
import { Scene } from '../lab/cluster/scene.ts'

const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const suspendedMs = 2000
/** On a busy machine a node may answer a check late. One that is gone or says 503 is still taken out. */
const patientBalancer = readFileSync('examples/deploy/haproxy-nodes.cfg', 'utf8').replace(
  'timeout check 1s',
  'timeout check 10s',
)
const why = lackingPrograms === '' ? '' : `: lacks ${lackingPrograms}`

test.skipIf(why !== '')(
  `one fault of each kind costs three nodes no effect (seed ${seed})${why}`,
  async () => {
    const load = { pairs: 1, writers: 2, patienceMs: 10_000 }
    const scene = await Scene.start({ seed, standby: false, balancer: patientBalancer, ...load })
    onTestFinished(() => scene.close())
    const { harness } = scene
    const chance = chanceFrom(seed)
    await scene.plays(1)
    await harness.killNode(pick(chance, [0, 1, 2]) ?? 0, () => scene.plays(1))
    await harness.killBalancer()
    await scene.plays(1)
    const link = pick(chance, harness.links)
    link?.shut()
    await scene.plays(1)
    link?.open()
    harness.primary.pause()
    await sleep(suspendedMs)
    harness.primary.resume()
    await scene.plays(1)
    const { wrong, run, seen } = await scene.end([lanesMakeProgress])
    expect(wrong).toEqual([])
    expect(run.operations.length).toBeGreaterThan(20)
    expect(seen.probes.length).toBeGreaterThan(0)
    expect(seen.replays.length).toBeGreaterThan(0)
  },
)
