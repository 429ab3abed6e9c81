/** A PostgreSQL server whose settings could lose commits: no command makes or serves an installation there. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import { startServer } from '../../../server/server.ts'
import { Desk } from '../../support/desk.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'

postgresOnly()

describe.skipIf(!hasPostgres)('a database that could lose commits', () => {
  let cluster: Cluster
  let desk: Desk
  let folder: string
  let config: ReturnType<typeof readConfig>

  beforeAll(async () => {
    cluster = await Cluster.start(['fsync = off'])
    desk = await Desk.make()
    folder = mkdtempSync(join(tmpdir(), 'bridge-unsafe-'))
    const settings = { port: '0', log_level: 'fatal', reserve_bytes: '0' }
    config = readConfig({ ...settings, data: join(folder, 'data'), database: cluster.url }, {})
  })
  afterAll(async () => {
    await desk?.remove()
    await cluster?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const doctor = async () => {
    const args = ['server', 'doctor', '--json', '--data', config.data, '--database', cluster.url]
    const { stdout } = await desk.run(args)
    const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string; text: string }[] }
    return findings.find(({ check }) => check === 'database')
  }
  /** Sets a setting of the server, and waits until new connections have it. */
  async function set(name: string, value: string): Promise<void> {
    await cluster.query(`ALTER SYSTEM SET ${name} = ${value}`)
    cluster.reload()
    await expect
      .poll(async () => (await cluster.query<Record<string, string>>(`SHOW ${name}`))[0]?.[name], {
        interval: 20,
      })
      .toBe(value)
  }

  test('init names fsync, full_page_writes and both', async () => {
    const lost = 'fsync is off, so commits could be lost on power loss'
    const damaged = 'full_page_writes is off, so a crash could damage it'
    await expect(initServer(config)).rejects.toMatchObject({
      name: 'UnfitDatabaseError',
      message: `this database cannot hold an installation: ${lost}`,
    })
    expect(await doctor()).toMatchObject({ state: 'problem', text: lost })
    await set('full_page_writes', 'off')
    expect(await doctor()).toMatchObject({ state: 'problem', text: `${lost}; ${damaged}` })
    await set('fsync', 'on')
    const at = ['--data', join(folder, 'other'), '--database', cluster.url]
    expect(await desk.run(['server', 'init', ...at])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /cannot hold an installation: full_page_writes is off[^;]*\nhint: bridge server doctor/,
      ),
    })
    await set('full_page_writes', 'on')
    expect(await doctor()).toMatchObject({ state: 'ok' })
    await initServer(config)
  })

  test('a node does not start on an installation that has become unsafe, and starts once it is safe', async () => {
    await set('fsync', 'off')
    await expect(startServer(config)).rejects.toMatchObject({
      name: 'UnfitDatabaseError',
      message: expect.stringContaining('fsync is off'),
    })
    await set('fsync', 'on')
    await (await startServer(config)).stop()
  })
})
