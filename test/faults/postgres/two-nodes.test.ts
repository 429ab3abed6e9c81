/**
 * A second node on one PostgreSQL database. It joins if its settings allow both. Else it is refused with the
 * setting and the remedy, and joins once the first has ended: at once if both are on one machine, else ten
 * seconds after the last beat.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrations } from '../../../server/database/migrations/index.ts'
import type { SharedSettings } from '../../../server/database/nodes.ts'
import { PostgresConnection, type Statement } from '../../../server/database/postgres/connection.ts'
import { createPostgresInstallation } from '../../../server/database/postgres/database.ts'
import { migrate } from '../../../server/database/postgres/migrate.ts'
import { joinDatabase, tryJoining } from '../../../server/database/postgres/nodes.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { expectInTries } from '../../support/tries.ts'

describe.skipIf(!hasPostgres)('a second node', () => {
  let cluster: Cluster
  let connection: PostgresConnection

  beforeAll(async () => {
    cluster = await Cluster.start()
    await createPostgresInstallation(cluster.url, 'server', () => new Date())
    connection = await PostgresConnection.open({ url: cluster.url })
  })
  afterAll(async () => {
    await connection?.close()
    await cluster?.close()
  })
  const joining = (id: string, settings?: Partial<SharedSettings>, name = id) => ({
    ...{ id, name, version: '1', program: 31 },
    settings: settings && { portalOrigin: '', packages: 'none', ...settings },
  })
  const take = (id: string) => joinDatabase(connection, joining(id))
  /** The reason why a second node is refused beside a first one. */
  const refusal = async (
    first: SharedSettings,
    second: Partial<SharedSettings> | undefined,
    name?: string,
  ) => {
    await connection.query({ text: 'DELETE FROM nodes' })
    await joinDatabase(connection, joining('first', first))
    return (await tryJoining(connection, joining('second', second && { ...first, ...second }, name)))?.reason
  }
  beforeEach(async () => {
    await connection.query({ text: 'DELETE FROM nodes' })
    await take('first')
  })

  const set = (text: string, values: readonly unknown[] = []) =>
    connection.query({ text: `UPDATE nodes SET ${text}`, values })
  const holder = async () => (await cluster.query<{ id: string }>('SELECT id FROM nodes'))[0]?.id

  /** Replaces the connection, whose transaction was ended. */
  const renew = async () => {
    connection.drop()
    connection = await PostgresConnection.open({ url: cluster.url })
  }

  const shared = { portalOrigin: 'https://bridge.example', packages: 's3://agents/bridge' }
  const there = `node first \\(process ${process.pid} on \\S+\\)`

  test('joins beside the first one with the same origin and the same store of packages', async () => {
    expect(await refusal(shared, {})).toBeUndefined()
    const names = await cluster.query('SELECT name, alone, portal_origin, packages FROM nodes ORDER BY name')
    const row = { alone: '0', portal_origin: shared.portalOrigin, packages: shared.packages }
    expect(names).toEqual([
      { name: 'first', ...row },
      { name: 'second', ...row },
    ])
    expect(await refusal({ portalOrigin: '', packages: 'none' }, {})).toBeUndefined()
  })

  test.each([
    [
      'the packages of the first one are in its data folder',
      { ...shared, packages: 'folder' },
      { packages: shared.packages },
      `packages is folder at ${there}, which the other nodes cannot read; set packages to the same s3://`,
    ],
    [
      'its own packages are in its data folder',
      shared,
      { packages: 'folder' },
      'packages is folder at this node, which the other nodes cannot read; set packages to the same s3://',
    ],
    [
      'both keep packages in their data folders',
      { ...shared, packages: 'folder' },
      {},
      `packages is folder at ${there}`,
    ],
    [
      'its packages are in another bucket',
      shared,
      { packages: 's3://other' },
      `packages is s3://other here and s3://agents/bridge at ${there}; set it to the same store at each node`,
    ],
    [
      'it takes no packages and the first one does',
      shared,
      { packages: 'none' },
      `packages is none here and s3://agents/bridge at ${there}`,
    ],
    [
      'its origin is another one',
      shared,
      { portalOrigin: 'https://other.example' },
      `portal_origin is https://other.example here and https://bridge.example at ${there}; set it to the same`,
    ],
    [
      'it has no origin',
      shared,
      { portalOrigin: '' },
      `portal_origin is not set here and https://bridge.example at ${there}`,
    ],
    [
      'it allows no other',
      shared,
      undefined,
      'another server \\(process \\d+ on \\S+\\) serves this database',
    ],
  ])('is refused if %s', async (_when, first, second, reason) => {
    expect(await refusal(first, second)).toMatch(new RegExp(`^${reason}`))
    expect(await cluster.query('SELECT id FROM nodes')).toEqual([{ id: 'first' }])
  })

  test('is refused under the name of the first one', async () => {
    const reason = `^${there} is alive and has the same node_name; give each node a name of its own$`
    expect(await refusal(shared, {}, 'first')).toMatch(new RegExp(reason))
  })

  test('is refused beside a program that knows no other nodes', async () => {
    expect(await refusal(shared, {})).toBeUndefined()
    await connection.query({ text: "DELETE FROM nodes WHERE id = 'second'" })
    await set('portal_origin = NULL, packages = NULL')
    expect((await tryJoining(connection, joining('second', shared)))?.reason).toContain('stop it first')
  })

  test('is refused after three seconds while the first one runs, and names it', async () => {
    await set("machine = 'elsewhere 1', pid = 4711")
    const beat = setInterval(() => void set('seen_at = clock_timestamp()'), 100)
    try {
      const taking = take('second')
      await expect(taking).rejects.toThrow('another server (process 4711 on elsewhere) serves this database')
    } finally {
      clearInterval(beat)
    }
    expect(await holder()).toBe('first')
  })

  test('starts at once if the first one was killed on the same machine', async () => {
    const names = ['first', 'second', 'third', 'fourth']
    let count = 0
    const takesMs = async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
      await set('pid = $1', [child.pid])
      child.kill('SIGKILL')
      await once(child, 'exit')
      count += 1
      const beganMs = performance.now()
      await take(names[count] ?? '')
      return performance.now() - beganMs
    }
    await expectInTries(takesMs, 2000)
    expect(await holder()).toBe(names[count])
  })

  test('starts ten seconds after the last beat of a node elsewhere, and not before', async () => {
    const beganMs = performance.now()
    await set("machine = 'elsewhere 1', seen_at = clock_timestamp() - interval '9 s'")
    await take('second')
    const tookMs = performance.now() - beganMs
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(5000)
    expect(await holder()).toBe('second')
  })

  /** A node that is suspended, or loses the network, once it holds the lock of this table. */
  const standingStillAt = (table: string) => {
    const { promise: holdsLock, resolve } = Promise.withResolvers<void>()
    const suspended = new Proxy(connection, {
      get: (target, key) =>
        key === 'query'
          ? async (statement: Statement) => {
              const answer = await target.query(statement)
              if (!statement.text.startsWith(`LOCK TABLE ${table} `)) return answer
              resolve()
              return new Promise(() => {})
            }
          : Reflect.get(target, key),
    })
    return { suspended, holdsLock }
  }
  /** Runs a statement as soon as no lock of a suspended node is in its way. */
  const within = async (seconds: number, text: string) => {
    const other = await PostgresConnection.open({ url: cluster.url })
    try {
      await other.query({ text: `SET lock_timeout = '${seconds}s'` })
      return (await other.query({ text })).count
    } finally {
      await other.close()
    }
  }

  test('that stands still while it joins stops the beats of the first one for 2 s at most', async () => {
    const { suspended, holdsLock } = standingStillAt('nodes')
    void tryJoining(suspended, joining('second', shared))
    await holdsLock
    expect(await within(4, 'UPDATE nodes SET beat = beat + 1')).toBe(1)
    await renew()
  })

  test('that stands still while it looks for migrations stops the readiness of the first one for 5 s at most', async () => {
    const { suspended, holdsLock } = standingStillAt('schema_migrations')
    void migrate(suspended, migrations, () => new Date())
    await holdsLock
    expect(await within(7, 'SELECT number FROM schema_migrations')).toBe(migrations.length)
    await renew()
  })
})
