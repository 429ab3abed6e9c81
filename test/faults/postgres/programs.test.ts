/**
 * Nodes that start at the same time on one PostgreSQL database, and nodes of two versions during an upgrade.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import type { ServerChance } from '../../../server/context.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { migrate } from '../../../server/database/postgres/migrate.ts'
import { initServer } from '../../../server/host/init.ts'
import { type RunningServer, startServer } from '../../../server/server.ts'
import { makeEnvelopeKey } from '../../../server/storage/envelope-keys.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { setUpOwner } from '../../support/owner.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'

postgresOnly()

describe.skipIf(!hasPostgres)('nodes on one database', () => {
  let cluster: Cluster
  let folder: string
  let database = ''
  let made = 0
  let running: RunningServer[] = []

  beforeAll(async () => {
    cluster = await Cluster.start()
    folder = mkdtempSync(join(tmpdir(), 'bridge-programs-'))
  })
  afterEach(async () => {
    await Promise.all(running.map((server) => server.stop()))
    running = []
  })
  afterAll(async () => {
    await cluster?.close()
    rmSync(folder, { recursive: true })
  })

  async function makeDatabase(): Promise<void> {
    made += 1
    await cluster.query(`CREATE DATABASE installation_${made}`)
    database = cluster.url.replace(/postgres$/, `installation_${made}`)
  }
  const query = <R extends object>(text: string) => cluster.query<R>(text, [], database)
  const configOf = (name: string) => {
    const data = join(folder, `${made}-${name}`)
    mkdirSync(data, { recursive: true })
    const settings = { port: '0', log_level: 'fatal', reserve_bytes: '0', package_bytes: '0' }
    return readConfig({ ...settings, data, database, node_name: name }, {})
  }
  /** A configuration with the envelope key of the first node. */
  const besides = (name: string) => {
    const config = configOf(name)
    const key = configOf('a').envelopeKeyFile
    if (!existsSync(key)) makeEnvelopeKey(key, (bytes) => Buffer.alloc(bytes, 1))
    if (!existsSync(config.envelopeKeyFile)) copyFileSync(key, config.envelopeKeyFile)
    return config
  }
  async function start(name: string, chance: ServerChance = {}): Promise<RunningServer> {
    const server = await startServer(besides(name), { passwordCost: 4, ...chance })
    running.push(server)
    return server
  }
  const recorded = async () => (await query('SELECT number FROM schema_migrations')).length

  test('one of two that create the installation at once creates it, and its link works at both', async () => {
    await makeDatabase()
    const outcomes = await Promise.allSettled(['a', 'b'].map((name) => initServer(configOf(name))))
    const links = outcomes.flatMap((each) => (each.status === 'fulfilled' ? [each.value.setupLink] : []))
    expect(links).toHaveLength(1)
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { name: 'DatabaseInitialisedError' },
    })
    expect(await recorded()).toBe(migrations.length)
    const winner = outcomes[0]?.status === 'fulfilled' ? 'a' : 'b'
    const loser = winner === 'a' ? 'b' : 'a'
    // With a key of its own the other host cannot join.
    makeEnvelopeKey(configOf(loser).envelopeKeyFile, (bytes) => Buffer.alloc(bytes, 1))
    await expect(startServer(configOf(loser))).rejects.toMatchObject({ name: 'OtherEnvelopeKeyError' })
    copyFileSync(configOf(winner).envelopeKeyFile, configOf(loser).envelopeKeyFile)
    const servers = [await start('a'), await start('b')]
    expect(servers.map(({ setupLink }) => setupLink)).toEqual([undefined, undefined])
    const there = servers[winner === 'a' ? 1 : 0]
    await setUpOwner(there?.url ?? '', links[0] ?? '')
  })

  test('two that start at once migrate an older database once, and one of them makes a link', async () => {
    for (let round = 0; round < 3; round += 1) {
      await makeDatabase()
      const connection = await PostgresConnection.open({ url: database })
      await migrate(connection, migrations.slice(0, 26), () => new Date())
      await connection.query({
        text: `INSERT INTO server (one, server_id, created_at)
          VALUES (1, '00000000-0000-4000-8000-00000000000${round}', '2026-01-01T00:00:00.000Z')`,
      })
      await connection.close()
      besides('b')
      const servers = await Promise.all([start('a'), start('b')])
      expect(await recorded()).toBe(migrations.length)
      const links = servers.flatMap(({ setupLink }) => setupLink ?? [])
      expect(links).toHaveLength(1)
      const other = servers.find(({ setupLink }) => setupLink === undefined)
      await setUpOwner(other?.url ?? '', links[0] ?? '')
      await Promise.all(running.splice(0).map((server) => server.stop()))
    }
  }, 60_000)

  test('one whose program is older than a migration allows drains and stops, and does not start again', async () => {
    await makeDatabase()
    await initServer(configOf('a'))
    const lines: string[] = []
    const oldest = migrations.length
    const old = await start('a', { program: oldest, logTo: { write: (line) => lines.push(line) } })
    const fresh = await start('b', { program: oldest + 1 })
    await query(`UPDATE oldest_program SET number = ${oldest + 1}`)
    expect(await old.finished).toBe(7)
    expect(lines.join('')).toContain('a newer program has migrated the database; this node drains and stops')
    expect((await query<{ name: string }>('SELECT name FROM nodes')).map(({ name }) => name)).toEqual(['b'])
    expect((await fetch(`${fresh.url}/api/ready`)).status).toBe(200)
    await expect(startServer(besides('a'), { program: oldest })).rejects.toThrow(
      `this program knows ${oldest} migrations, and the database requires nodes that know ${oldest + 1}`,
    )
  })

  test('one whose program is older, but new enough, serves beside a newer one', async () => {
    await makeDatabase()
    await initServer(configOf('a'))
    const servers = [
      await start('a', { program: migrations.length }),
      await start('b', { program: migrations.length + 1 }),
    ]
    for (const { url } of servers) expect((await fetch(`${url}/api/ready`)).status).toBe(200)
  })
})
