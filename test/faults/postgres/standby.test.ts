/**
 * A node whose PostgreSQL server fails over to a synchronous standby: no answered effect is lost, and the
 * node is ready within two seconds of the promotion, and writes within five. If no standby confirms, no write
 * waits for longer than 25 seconds. The node reaches its database through a proxy that is switched over, as
 * behind a load balancer or an address that moves.
 * BRIDGE_PROMOTIONS=50 promotes that often.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { examineDatabase } from '../../../server/host/doctor-postgres.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type Switch, startSwitch } from '../../support/switch.ts'
import { machineMs } from '../lab/client-log.ts'
import { type Load, readyAfter, startLoad } from '../lab/postgres/load.ts'

postgresOnly()

const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const promotions = Number(process.env.BRIDGE_PROMOTIONS ?? 1)
const writesWithinMs = 5000
const readyWithinMs = 2000
const refusedWithinMs = 25_000

describe.skipIf(!hasPostgres)(`a node whose database fails over (seed ${seed})`, () => {
  let primary: Cluster
  let standby: Cluster
  let way: Switch
  let load: Load

  beforeAll(async () => {
    primary = await Cluster.start()
    await addStandby()
    way = await startSwitch(primary.port)
    load = await startLoad(primary, { seed, url: way.urlOf(primary.url) })
  })

  /** Starts a standby for which the commits of the primary wait. */
  async function addStandby(): Promise<void> {
    standby = await primary.startStandby()
    await primary.requireStandby()
  }

  afterAll(async () => {
    await load?.close()
    await way?.close()
    await standby?.close()
    await primary?.close()
  })

  test('a standby is refused, and the node is not ready on it', async () => {
    await expect(PostgresConnection.open({ url: standby.url })).rejects.toThrow('it is a standby')
    way.lead(standby.port)
    const { status } = await fetch(`${load.server.url}/api/ready`)
    expect(status).toBe(503)
    way.lead(primary.port)
    expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
  })

  test('the doctor and readiness tell that commits wait for the standby', async () => {
    expect(await (await fetch(`${load.server.url}/api/ready`)).json()).toMatchObject({
      durability: 'synchronous',
    })
    const findings = await examineDatabase(primary.url, { data: load.server.data, envelopeKeyFile: '' })
    expect(findings).toContainEqual(
      expect.objectContaining({ state: 'ok', text: 'commits wait for a synchronous standby' }),
    )
  })

  test('without a standby that confirms, the node is not ready after ten seconds, and returns with one', async () => {
    const status = async () => (await fetch(`${load.server.url}/api/ready`)).status
    expect(await status()).toBe(200)
    await primary.requireStandby('nobody')
    // The writers are waiting for a commit, so this write is for a later one.
    await sleep(1000)
    const askedMs = performance.now()
    const queued = load.owner
      .call({ target: '/api/admin/projects', body: { name: 'queued' } })
      .then((reply) => ({ status: reply.status, ms: performance.now() - askedMs }))
    await expect.poll(status, { interval: 100 }).toBe(503)
    const { status: told, ms } = await queued
    expect(told).toBe(503)
    expect(ms).toBeLessThan(refusedWithinMs)
    await primary.requireStandby()
    await expect.poll(status, { interval: 100 }).toBe(200)
    await load.crew.answers(20)
  })

  /**
   * Replaces the primary by its standby, and the standby by a new one, once the node knows that commits wait
   * for it.
   */
  async function renewStandby(): Promise<void> {
    await primary.close()
    primary = standby
    await addStandby()
    const isKnown = async () => (await primary.query('SELECT synchronous::int FROM place'))[0]
    await expect.poll(isKnown).toEqual({ synchronous: 1 })
  }

  test('no answered effect is lost, and writes succeed within five seconds of each promotion', {
    timeout: 300_000 + promotions * 60_000,
  }, async () => {
    let promotedMs = 0
    for (let round = 1; round <= promotions; round += 1) {
      if (round > 1) await renewStandby()
      await load.crew.answers(150)
      await primary.kill()
      way.lead(standby.port)
      await standby.promote()
      promotedMs = machineMs()
      expect(await readyAfter(load.server)).toBeLessThan(readyWithinMs)
      await load.crew.answers(1)
      expect(machineMs() - promotedMs).toBeLessThan(writesWithinMs)
      await load.crew.answers(100)
    }
    expect(load.server.errors).not.toContain('failed over without a synchronous standby')
    // The node may repeat a group on the new primary in time, so that no request is refused.
    const { wrong, operations } = await load.end(standby)
    expect(wrong).toEqual([])
    const later = operations.filter(({ outcome, invoked }) => outcome === 'ok' && invoked > promotedMs)
    expect(later.length).toBeGreaterThan(50)
  })
})
