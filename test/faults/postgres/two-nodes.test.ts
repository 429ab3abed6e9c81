/**
 * Two nodes on one PostgreSQL database. The second is refused with the reason. It starts once the first has
 * ended: at once if both are on one machine, else ten seconds after the last beat.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { createPostgresInstallation } from '../../../server/database/postgres/database.ts'
import { joinDatabase } from '../../../server/database/postgres/nodes.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'

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
  const take = (id: string) =>
    joinDatabase(connection, { id, name: id, version: '1', program: 26, isAlone: true })
  beforeEach(async () => {
    await connection.query({ text: 'DELETE FROM nodes' })
    await take('first')
  })

  const set = (text: string, values: readonly unknown[] = []) =>
    connection.query({ text: `UPDATE nodes SET ${text}`, values })
  const holder = async () => (await cluster.query<{ id: string }>('SELECT id FROM nodes'))[0]?.id

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
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    await set('pid = $1', [child.pid])
    child.kill('SIGKILL')
    await once(child, 'exit')
    const beganMs = performance.now()
    await take('second')
    expect(performance.now() - beganMs).toBeLessThan(2000)
    expect(await holder()).toBe('second')
  })

  test('starts ten seconds after the last beat of a node elsewhere, and not before', async () => {
    await set("machine = 'elsewhere 1', seen_at = clock_timestamp() - interval '9 s'")
    const beganMs = performance.now()
    await take('second')
    const tookMs = performance.now() - beganMs
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(5000)
    expect(await holder()).toBe('second')
  })
})
