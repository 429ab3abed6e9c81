/**
 * Three nodes are upgraded one after the other under the full story, through four versions of the program. The
 * first is from before the newest migration, built from its commit, and the second is the one of this run. The
 * migrations of the third expand each table, and those of the fourth contract them again. Two versions serve
 * side by side. The last step ends a node that was forgotten, and such a node does not start again. No
 * acknowledged effect is lost, each happens once, no request takes two seconds, and no step of the story two
 * seconds more than usual. The longest steps are printed; docs/scaling.md says on which machine some took more.
 * `BRIDGE_ROLLING_UPGRADES=20` is the number of upgrades, each of an installation of its own. Without it there is
 * one, under less load, without a standby and without bounds on time, because they need a machine without other
 * work.
 */
import { expect, test } from 'vitest'
import { migrations } from '../../../server/database/migrations/index.ts'
import { patient } from '../../support/haproxy.ts'
import type { ServerProcess } from '../../support/process.ts'
import { program as ours } from '../../support/program.ts'
import { lacking, longestMs } from '../lab/cluster/harness.ts'
import { busyProgressWithinMs } from '../lab/cluster/rules.ts'
import { Scene } from '../lab/cluster/scene.ts'
import { stallsOf, toldOf } from '../lab/cluster/stalls.ts'
import { columnOfTables, commitBefore, contract, expand, fileAt, Versions } from '../lab/cluster/versions.ts'

const long = process.env.BRIDGE_ROLLING_UPGRADES
const upgrades = Number(long ?? 1)
/** The long form leaves the processor some room, as `kills.test.ts` does, because a node that starts needs two seconds of it. */
const load = {
  writers: 2,
  ...(long === undefined ? { standby: false, pairs: 1 } : { standby: true, pauseMs: 100 }),
}
/** Steps of the story beside each pair of versions. */
const steps = long === undefined ? 1 : 4
/** Steps after each node is ready, because its first requests take several times as long as later ones. */
const pause = long === undefined ? 0 : 8
const progressWithinMs = long === undefined ? busyProgressWithinMs : undefined
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const slowFromMs = 2000
const newest = migrations.length
const expanded = newest + expand.length
const removal = contract(expanded)
const contracted = expanded + removal.length
const commit = commitBefore()
const why = lacking || (commit === undefined ? 'the history of this clone: git fetch --unshallow' : '')

const ended = { code: 0, signal: null }
/** The status of a node that a newer program has outdated. */
const outdated = { code: 7, signal: null }

test.skipIf(why !== '')(
  `${upgrades} rolling upgrades cost no effect (seed ${seed}) ${why}`,
  async () => {
    const versions = new Versions()
    try {
      const older = versions.buildOf(commit ?? '')
      const wider = versions.withSteps(...expand)
      const last = versions.withSteps(...expand, ...removal)
      const slow: string[] = []
      for (let round = 0; round < upgrades; round += 1)
        slow.push(...(await upgrade({ seed: seed + round, older, wider, last })))
      // A lost effect ends the test at once. A bound on time is checked last, so that each upgrade is measured.
      expect(slow).toEqual([])
    } finally {
      versions.close()
    }
  },
  longestMs,
)

interface Programs {
  readonly seed: number
  readonly older: string
  readonly wider: string
  readonly last: string
}

/** Returns the requests that took two seconds, and the steps that took two seconds more than usual. */
async function upgrade({ seed, older, wider, last }: Programs): Promise<string[]> {
  // The present file may need the present program: who upgrades renews the file afterwards.
  const earlier = fileAt(commit ?? '', 'examples/deploy/haproxy-nodes.cfg')
  const scene = await Scene.start({
    ...{ seed, ...load, node: () => ({ program: older }) },
    balancer: long === undefined ? patient(earlier) : earlier,
  })
  try {
    const { harness } = scene
    const forgotten = harness.nodes[1] as ServerProcess
    const replace = async (index: number, program: string) => {
      const [ending] = await Promise.all([harness.replaceNode(index, program), scene.plays(1)])
      expect(ending).toEqual(ended)
      await expect.poll(() => isReady(harness.nodes[index]), { interval: 50 }).toBe(true)
      await scene.plays(pause)
    }
    /** The migrations of the database, and those that the program of each node knows. */
    const known = async () => {
      const [recorded] = await harness.primary.query<{ count: string }>(
        'SELECT count(*) FROM schema_migrations',
      )
      const nodes = await harness.primary.query<{ program: string }>(
        'SELECT program FROM nodes ORDER BY name',
      )
      return { recorded: Number(recorded?.count), nodes: nodes.map((node) => Number(node.program)) }
    }
    /** The tables that the further migrations have changed, and the others. */
    const tables = async () => {
      const [found] = await harness.primary.query<Record<'having' | 'lacking', string[]>>(columnOfTables)
      if (found === undefined) throw new Error('the database has no answer')
      return found
    }
    expect(await known()).toEqual({ recorded: newest - 1, nodes: [newest - 1, newest - 1, newest - 1] })
    await (long === undefined ? scene.plays(steps) : scene.warmUp())
    const undisturbedMs = performance.now()

    await replace(2, ours)
    expect(await known()).toEqual({ recorded: newest, nodes: [newest - 1, newest - 1, newest] })
    await scene.plays(steps)
    await replace(0, ours)
    await replace(1, ours)

    await replace(2, wider)
    expect(await known()).toEqual({ recorded: expanded, nodes: [newest, newest, expanded] })
    expect((await tables()).lacking).toEqual([])
    await scene.plays(steps)
    await replace(0, wider)

    await replace(2, last)
    const [drained] = await Promise.all([forgotten.ended, scene.plays(steps)])
    expect(drained).toEqual(outdated)
    expect(await known()).toEqual({ recorded: contracted, nodes: [expanded, contracted] })
    expect((await tables()).having).toEqual([])
    for (const program of [ours, older])
      await expect(forgotten.start({ program })).rejects.toThrow(
        /but this program only knows \d+; run the newer program.*install that version or a newer one/s,
      )
    expect(await forgotten.ended).toEqual(outdated)
    await forgotten.start({ program: last })
    await replace(0, last)
    await scene.plays(steps)
    expect(await known()).toEqual({ recorded: contracted, nodes: [contracted, contracted, contracted] })

    const { wrong, run } = await scene.end({ progressWithinMs })
    const isDrained = (sentence: string) => sentence.includes('this node drains and stops')
    expect(wrong.filter(isDrained)).toHaveLength(1)
    expect(wrong.filter((sentence) => !isDrained(sentence))).toEqual([])
    if (long === undefined) return []
    const stalls = stallsOf(scene.steps, undisturbedMs).toSorted((one, other) => other.ms - one.ms)
    process.stderr.write(`seed ${seed}\n${stalls.slice(0, 3).map(toldOf).join('\n')}\n`)
    // What a stream brought has no beginning.
    const requests = run.operations
      .filter(({ outcome, invoked }) => outcome === 'ok' && invoked > 0)
      .map(({ op, invoked, returned }) => ({ op, ms: returned - invoked }))
    return [
      ...requests
        .filter(({ ms }) => ms >= slowFromMs)
        .map(({ op, ms }) => `seed ${seed}: ${op} took ${ms} ms`),
      ...stalls.filter(({ ms }) => ms >= slowFromMs).map((stall) => `seed ${seed}: ${toldOf(stall)}`),
    ]
  } finally {
    await scene.close()
  }
}

async function isReady(node: ServerProcess | undefined): Promise<boolean> {
  return (await fetch(`${node?.url}/api/ready`)).ok
}
