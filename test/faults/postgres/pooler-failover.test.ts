/**
 * A node behind PgBouncer whose PostgreSQL server fails over. The pooler keeps the connections of the node,
 * and opens others to the promoted standby. It reaches the database through a proxy that is switched over, as
 * an address that moves.
 */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { hasPooler, startPooler } from '../../server/postgres/pooler.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { startServerProcess } from '../../support/process.ts'
import { startSwitch } from '../../support/switch.ts'
import { machineMs } from '../lab/client-log.ts'
import { bugsIn, readyAfter, startLoad } from '../lab/postgres/load.ts'
import { startBehind } from '../lab/postgres/standby.ts'

postgresOnly()

const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const writesWithinMs = 5000
/** The node compares with each beat. On a busy machine it has time for two, and the pooler connects before. */
const noticesWithinMs = 5000

describe.skipIf(!hasPostgres || !hasPooler).each(['session', 'transaction'] as const)(
  `a node behind PgBouncer with %s pooling (seed ${seed})`,
  (mode) => {
    const clusters: Cluster[] = []
    afterEach(async () => {
      for (const cluster of clusters.splice(0)) await cluster.close()
    })

    async function startPrimary() {
      const primary = await Cluster.start()
      clusters.push(primary)
      const way = await startSwitch(primary.port)
      onTestFinished(() => way.close())
      // By default, PgBouncer waits 15 s after a refused connection.
      const pooler = await startPooler(way.urlOf(primary.url), mode, ['server_login_retry = 1'])
      onTestFinished(() => pooler.close())
      return { primary, way, pooler }
    }

    test('loses nothing and writes within five seconds of the promotion of a synchronous standby', async () => {
      const { primary, way, pooler } = await startPrimary()
      const standby = await primary.startStandby()
      clusters.push(standby)
      await primary.requireStandby()
      const load = await startLoad(primary, { seed, url: pooler.url })
      onTestFinished(() => load.close())
      await load.crew.answers(150)
      await primary.kill()
      way.lead(standby.port)
      await standby.promote()
      const promotedMs = machineMs()
      await load.crew.answers(1)
      expect(machineMs() - promotedMs).toBeLessThan(writesWithinMs)
      await readyAfter(load.server)
      expect(machineMs() - promotedMs).toBeLessThan(writesWithinMs)
      await load.crew.answers(100)
      const { wrong, operations } = await load.end(standby)
      expect(wrong).toEqual([])
      const later = operations.filter(({ outcome, invoked }) => outcome === 'ok' && invoked > promotedMs)
      expect(later.length).toBeGreaterThan(50)
    })

    test('serves nothing from an asynchronous standby that lacks confirmed writes', async () => {
      const { primary, way, pooler } = await startPrimary()
      const server = await startServerProcess({ settings: { database: pooler.url, log_level: 'warn' } })
      onTestFinished(() => server.close())
      const { owner, ada, ben } = await settlePeople(server, { message_budget: 1_000_000 })
      const conversation_id = await ada.conversationWith(ben.id)
      const send = async (body: string) => {
        const message = { conversation_id, recipient_agent_id: ben.id, type: 'note', body }
        return (await ada.call({ target: '/api/v1/messages', body: message })).status
      }
      expect(await send('on both')).toBe(200)
      const standby = await startBehind(primary)
      clusters.push(standby)
      const lost = Array.from({ length: 20 }, (_, index) => `lost ${index}`)
      expect(new Set(await Promise.all(lost.map(send)))).toEqual(new Set([200]))
      await primary.kill()
      await standby.promote()
      way.lead(standby.port)
      const hasNoticed = () => server.errors.includes('the database has lost confirmed writes')
      await expect.poll(hasNoticed, { timeout: noticesWithinMs }).toBe(true)
      expect(new Set(await Promise.all(lost.map(send)))).toEqual(new Set([503]))
      expect((await ben.call({ target: '/api/v1/peers' })).status).toBe(503)
      const owned = await Promise.all(lost.map(() => owner.call({ target: '/api/admin' })))
      expect(new Set(owned.map(({ status }) => status))).toEqual(new Set([503]))
      expect((await fetch(`${server.url}/api/ready`)).status).toBe(503)
      expect(bugsIn(server.errors).filter((line) => !line.includes('bridge server restored'))).toEqual([])
    })
  },
)
