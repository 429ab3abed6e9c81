/**
 * The probe of the database at the start. It names each setting and each ability that the node needs and the
 * database lacks. A proxy that rewrites statements takes abilities away. For fsync and full_page_writes see
 * test/faults/postgres/unsafe-settings.test.ts. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { missingLocks } from '../../../server/database/postgres/row-locks.ts'
import { initServer } from '../../../server/host/init.ts'
import { startServer } from '../../../server/server.ts'
import { testConfig } from '../../support/config.ts'
import { Desk } from '../../support/desk.ts'
import { makeInstallation } from '../../support/installation.ts'
import { databaseUrl, dropDatabase, isOnPostgres } from '../../support/postgres.ts'

const settings = { port: '0', log_level: 'fatal', reserve_bytes: '0' }

async function asSuperuser(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: process.env.BRIDGE_TEST_POSTGRES })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

const nameOf = (data: string): string => new URL(databaseUrl(data)).pathname.slice(1)

describe.skipIf(!isOnPostgres)('the probe of the database', () => {
  let desk: Desk
  let data: string
  beforeAll(async () => {
    desk = await Desk.make()
    data = join(desk.folder, 'data')
    await makeInstallation(testConfig(data, settings))
  })
  afterAll(async () => {
    await dropDatabase(data)
    await desk.remove()
  })

  const start = (database = databaseUrl(data)) => startServer(testConfig(data, { ...settings, database }))
  const refusal = (text: string) => ({
    name: 'UnfitDatabaseError',
    message: `this database cannot hold an installation: ${text}`,
  })

  test('refuses a database whose encoding is not UTF8, at init and in doctor', async () => {
    const other = join(desk.folder, 'ascii')
    const ascii = "ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0"
    await asSuperuser(`CREATE DATABASE ${nameOf(other)} ${ascii}`)
    onTestFinished(() => dropDatabase(other))
    const fault = 'its encoding is SQL_ASCII, not UTF8'
    await expect(initServer(testConfig(other))).rejects.toMatchObject(refusal(fault))
    const { code, stderr } = await desk.run(['server', 'init', '--data', other])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${fault}\nhint: bridge server doctor`)])
    const { stdout } = await desk.run(['server', 'doctor', '--data', other])
    expect(stdout).toMatch(new RegExp(`^problem +database +${fault}`, 'm'))
  })

  test.each([
    ['synchronous_commit', 'off', 'synchronous_commit is off, so commits could be lost'],
    [
      'default_transaction_isolation',
      "'repeatable read'",
      'default_transaction_isolation is repeatable read, not read committed',
    ],
    [
      'default_transaction_isolation',
      'serializable',
      'default_transaction_isolation is serializable, not read committed',
    ],
    ['default_transaction_read_only', 'on', 'default_transaction_read_only is on, so it cannot be written'],
  ])('refuses a database with %s = %s', async (name, value, fault) => {
    await asSuperuser(`ALTER DATABASE ${nameOf(data)} SET ${name} = ${value}`)
    onTestFinished(() => asSuperuser(`ALTER DATABASE ${nameOf(data)} RESET ${name}`))
    await expect(start()).rejects.toMatchObject(refusal(fault))
  })

  test.each([
    [
      'an older version',
      "current_setting('server_version_num')",
      "'130011'",
      expect.stringMatching(/: PostgreSQL [\d.]+.* is older than 14$/),
    ],
    [
      'no row locks',
      'FOR UPDATE SKIP LOCKED',
      '',
      'this database cannot hold an installation: it lacks locks of rows',
    ],
    [
      'no SKIP LOCKED',
      'SKIP LOCKED',
      '',
      'this database cannot hold an installation: it lacks FOR UPDATE SKIP LOCKED (55P03)',
    ],
    [
      'transactions that read only their first snapshot',
      'ISOLATION LEVEL READ COMMITTED',
      'ISOLATION LEVEL SERIALIZABLE',
      'this database cannot hold an installation: it lacks reading a row again after its lock (40001)',
    ],
    [
      'no xact status',
      'pg_xact_status(',
      'pg_no_status(',
      'this database cannot hold an installation: it lacks pg_current_xact_id and pg_xact_status (42883)',
    ],
  ])('refuses an engine with %s', async (_what, words, others, message) => {
    const proxy = await startRewriting(databaseUrl(data), words, others)
    onTestFinished(() => proxy.close())
    await expect(start(proxy.url)).rejects.toMatchObject({ name: 'UnfitDatabaseError', message })
    expect(proxy.rewritten()).toBeGreaterThan(0)
  })

  test('accepts the same engine through a proxy that rewrites nothing', async () => {
    const proxy = await startRewriting(databaseUrl(data), 'words that no statement has', '')
    onTestFinished(() => proxy.close())
    await (await start(proxy.url)).stop()
  })

  test('accepts it while other nodes try its locks', async () => {
    const tries = Array.from({ length: 8 }, () => missingLocks({ url: databaseUrl(data) }))
    expect((await Promise.all(tries)).flat()).toEqual([])
  })
})

/** A way to the database on which these words of each statement become others of at most the same length. */
async function startRewriting(database: string, words: string, others: string) {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  let count = 0
  const server: Server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
    near.on('data', (bytes) => {
      const parts = bytes.toString('latin1').split(words)
      count += parts.length - 1
      far.write(parts.join(others.padEnd(words.length)), 'latin1')
    })
    far.on('data', (bytes) => near.write(bytes))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(database)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  return {
    url: url.href,
    rewritten: () => count,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
