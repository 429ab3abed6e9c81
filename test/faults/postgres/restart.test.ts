/**
 * A node whose PostgreSQL server is killed or suspended. Each key has one effect, and no answered effect is lost.
 * The process stays, and it is ready again within two seconds of the database.
 *
 * BRIDGE_KILLS=20 kills it that often, BRIDGE_STOPPED_SECONDS=30 suspends it for that time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chanceFrom } from '../../support/chance.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { Operation } from '../lab/history.ts'
import { type Load, readyAfter, startLoad } from '../lab/postgres/load.ts'

postgresOnly()

const kills = Number(process.env.BRIDGE_KILLS ?? 2)
const stoppedMs = Number(process.env.BRIDGE_STOPPED_SECONDS ?? 3) * 1000
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))

const readyWithinMs = 2000
const unreadyWithinMs = 2000
const answeredWithinMs = 25_000

describe.skipIf(!hasPostgres)(`a node whose database fails (seed ${seed})`, () => {
  let cluster: Cluster
  let load: Load

  beforeAll(async () => {
    cluster = await Cluster.start()
    load = await startLoad(cluster, { seed })
  })
  afterAll(async () => {
    await load?.close()
    await cluster?.close()
  })

  test('is ready within two seconds of a killed database', async () => {
    const chance = chanceFrom(seed)
    for (let round = 0; round < kills; round += 1) {
      await load.crew.answers(100)
      await delay(chance() * 150)
      await cluster.kill()
      await cluster.start()
      expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
    }
  })

  test('is not ready within two seconds of a suspended database, and ready within two afterwards', async () => {
    const unreadyAfterMs = async () => {
      await load.crew.answers(100)
      cluster.pause()
      const pausedMs = performance.now()
      try {
        const { status } = await fetch(`${load.server.url}/api/ready`)
        const tookMs = performance.now() - pausedMs
        expect(status).toBe(503)
        await delay(stoppedMs - (performance.now() - pausedMs))
        return tookMs
      } finally {
        cluster.resume()
        expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
      }
    }
    // On a busy machine the node may stand still meanwhile, and then the test suspends the database again.
    await expect.poll(unreadyAfterMs).toBeLessThan(unreadyWithinMs)
  })

  test('has one effect per key, loses nothing, and refuses in time', async () => {
    await load.crew.answers(50)
    const { wrong, operations } = await load.end(cluster)
    expect(wrong).toEqual([])
    const slowest = Math.max(...operations.map(({ invoked, returned }) => returned - invoked))
    expect(slowest).toBeLessThan(answeredWithinMs)
    // The node may repeat a group in time, so that no request is refused.
    const refused = operations.filter(({ outcome }) => outcome === 'info')
    expect(refused.filter((each) => !isRefusal(each))).toEqual([])
  })
})

/** Whether the answer says when to repeat the request. */
const isRefusal = ({ code, answer }: Operation): boolean =>
  code === 'unavailable' && answer.includes('"retry_after_ms":')
