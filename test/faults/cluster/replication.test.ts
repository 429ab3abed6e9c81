/**
 * The connection of the synchronous standby is silent under the full story of three nodes: commits wait, or are
 * refused after their limit. At the end the silent standby takes over. No acknowledged effect is lost, and each
 * happens once.
 * `BRIDGE_CLUSTER_FAULTS=100` is the number of silences of each length. Without it there is a short one.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { patient } from '../../support/haproxy.ts'
import { lacking, longestMs } from '../lab/cluster/harness.ts'
import { busyProgressWithinMs } from '../lab/cluster/rules.ts'
import { Scene } from '../lab/cluster/scene.ts'

const long = process.env.BRIDGE_CLUSTER_FAULTS
const rounds = Number(long ?? 1)
/** The second is beyond the 15 s after which a node gives up a connection that does not answer. */
const silencesMs = long === undefined ? [3000] : [3000, 20_000]
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))

test.skipIf(lacking !== '')(
  `a silent standby costs no effect (seed ${seed}) ${lacking}`,
  async () => {
    const load = { pairs: 1, writers: 2, patienceMs: 60_000 }
    const scene = await Scene.start({ seed, ...load, balancer: long === undefined ? patient() : undefined })
    onTestFinished(() => scene.close())
    const { harness } = scene
    /** Commits that wait for longer than a standby that answers takes. */
    const waiting = () =>
      harness.primary.query(
        `SELECT 1 FROM pg_stat_activity
         WHERE wait_event = 'SyncRep' AND state_change < clock_timestamp() - interval '2 s'`,
      )
    /** Resolves after a silence in which commits wait. The link stays silent. */
    const silence = async (ms: number) => {
      harness.replication.drop('all')
      await Promise.all([sleep(ms), expect.poll(waiting).not.toEqual([])])
    }
    await scene.plays(1)
    for (let round = 0; round < rounds; round += 1)
      for (const silentMs of silencesMs) {
        await silence(silentMs)
        harness.replication.drop('none')
        await scene.plays(1)
      }
    await silence(silencesMs[0] ?? 0)
    await harness.failOver()
    harness.replication.drop('none')
    await scene.plays(1)
    const progressWithinMs = long === undefined ? busyProgressWithinMs : undefined
    const { wrong, run, seen } = await scene.end({ progressWithinMs })
    expect(wrong).toEqual([])
    expect(run.operations.length).toBeGreaterThan(20)
    expect(seen.probes.length).toBeGreaterThan(0)
  },
  longestMs,
)
