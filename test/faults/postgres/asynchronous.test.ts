/**
 * A node whose PostgreSQL server fails over to an asynchronous standby that is behind.
 *
 * - If the standby lacks a confirmed write, the node serves nothing, and neither does a new start.
 * - If it lacks only nonces, the node serves, and refuses requests that were signed before the failover.
 *
 * The controls show what was lost: without the witness and without the floor, nothing refuses.
 * BRIDGE_PROMOTIONS=20 fails over that often.
 */
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { witnessPath } from '../../../server/storage/data-folder.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { exchangeOne, signedText } from '../../support/raw-client.ts'
import { type Switch, startSwitch } from '../../support/switch.ts'
import { bugsIn, readyAfter } from '../lab/postgres/load.ts'
import { startBehind } from '../lab/postgres/standby.ts'

postgresOnly()

const promotions = Number(process.env.BRIDGE_PROMOTIONS ?? 1)
const rounds = Array.from({ length: promotions }, (_, index) => index + 1)
const readyWithinMs = 2000
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

describe.skipIf(!hasPostgres)('a node whose database fails over to an asynchronous standby', () => {
  const clusters: Cluster[] = []
  let primary: Cluster
  let way: Switch
  let server: ServerProcess
  let people: People
  let conversation: string

  beforeAll(async () => {
    primary = await Cluster.start()
    clusters.push(primary)
    way = await startSwitch(primary.port)
    const settings = { database: way.urlOf(primary.url), log_level: 'warn' }
    server = await startServerProcess({ settings })
    people = await settlePeople(server, { message_budget: 1_000_000 })
    conversation = await people.ada.conversationWith(people.ben.id)
  })
  afterAll(async () => {
    await server?.close()
    await way?.close()
    for (const cluster of clusters) await cluster.close()
    expect(bugsIn(server?.errors ?? '').filter((line) => !line.includes('bridge server restored'))).toEqual(
      [],
    )
  })

  async function startStandby(writeLast?: () => Promise<unknown>): Promise<Cluster> {
    const standby = await startBehind(primary, writeLast)
    clusters.push(standby)
    return standby
  }

  /** Kills the primary and leads the node to the promoted standby, which is the next primary. */
  async function failOver(standby: Cluster): Promise<void> {
    await primary.kill()
    await standby.promote()
    way.lead(standby.port)
    primary = standby
  }

  /** After a failover the node accepts only requests that are dated ahead. */
  const sending = (text: string) => ({
    time: inSeconds(29),
    target: '/api/v1/messages',
    body: { conversation_id: conversation, recipient_agent_id: people.ben.id, type: 'note', body: text },
  })
  const send = async (text: string) => (await people.ada.call(sending(text))).status
  const bodies = async () =>
    (await primary.query<{ body: string }>('SELECT body FROM messages ORDER BY id')).map(({ body }) => body)
  const checks = async () =>
    ((await (await fetch(`${server.url}/api/ready`)).json()) as { checks: Record<string, boolean> }).checks

  test('refuses the requests that the standby has not seen, and serves those signed later', async () => {
    // A write also stores the contact of the agent, which requests of the next ten seconds then do not.
    const standby = await startStandby(async () => expect(await send('on both')).toBe(200))
    // Dated ahead, so that it is still valid at the end of the test.
    const captured = signedText(people.ada, { target: '/api/v1/peers', time: inSeconds(25) })
    expect((await exchangeOne(server.port, captured)).status).toBe(200)
    expect(await exchangeOne(server.port, captured)).toMatchObject({ error: 'request_replayed' })
    await failOver(standby)
    expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
    expect(await exchangeOne(server.port, captured)).toMatchObject({ status: 503, error: 'unavailable' })
    const now = await people.ada.call({ target: '/api/v1/peers' })
    expect(now).toMatchObject({ status: 503, json: { error: 'unavailable' } })
    expect(Number(now.headers['retry-after'])).toBeLessThanOrEqual(31)
    // Clients may date a request up to 30 s ahead, so this one is later than the floor.
    const later = () => people.ada.call({ target: '/api/v1/peers', time: inSeconds(29) })
    await expect.poll(async () => (await later()).status, { timeout: 10_000 }).toBe(200)
    expect(server.errors.match(/failed over without a synchronous standby/g)).toHaveLength(1)

    // Control: the nonce is lost, and only the floor refuses it.
    await server.kill()
    await primary.query('UPDATE replay_floor SET floor = 0')
    await server.start()
    expect((await exchangeOne(server.port, captured)).status).toBe(200)
  })

  describe.each(rounds)('failover %i', () => {
    test('serves nothing if the standby lacks what was confirmed, and neither does a new start', async () => {
      const standby = await startStandby()
      const told = server.errors.length
      await expect.poll(() => send('lost')).toBe(200)
      const lost = Array.from({ length: 40 }, (_, index) => `lost ${index}`)
      expect(new Set(await Promise.all(lost.map(send)))).toEqual(new Set([200]))
      await failOver(standby)
      await expect
        .poll(() => server.errors.includes('the database has lost confirmed writes', told))
        .toBe(true)
      expect(new Set(await Promise.all(lost.map(send)))).toEqual(new Set([503]))
      expect((await people.ben.call({ target: '/api/v1/peers' })).status).toBe(503)
      expect((await people.owner.call({ target: '/api/admin' })).status).toBe(503)
      expect(await checks()).toMatchObject({ database: false })
      expect(await bodies()).toEqual(['on both'])
      await server.kill('SIGTERM')
      await expect(server.start()).rejects.toThrow('bridge server restored')
      expect((await server.ended).code).toBe(7)
    })

    test('control: without the witness the loss is silent', async () => {
      rmSync(witnessPath(server.data))
      await primary.query('UPDATE place SET forgotten = NULL')
      await server.start()
      expect(await readyAfter(server)).toBeLessThan(readyWithinMs)
      expect((await people.owner.call({ target: '/api/admin' })).status).toBe(200)
      expect(await bodies()).toEqual(['on both'])
    })
  })
})
