/**
 * A PostgreSQL database that has lost confirmed writes: the node refuses to serve it until
 * `bridge server restored` has run. The loss is real: `pg_dump` wrote the earlier state and `psql` loads it.
 * Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../server/config.ts'
import { startServer } from '../../../server/server.ts'
import { witnessPath } from '../../../server/storage/data-folder.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { isOnPostgres, onDatabase, storeSettings } from '../../support/postgres.ts'

const programs = process.env.BRIDGE_TEST_POSTGRES_BIN ?? ''
const canDump = isOnPostgres && existsSync(join(programs, 'pg_dump'))

describe.skipIf(!canDump)('a database that has lost confirmed writes', () => {
  let bridge: TestBridge
  let desk: Desk
  let conversation: string
  let url: string
  let dump: string
  const log: string[] = []

  beforeAll(async () => {
    bridge = await startBridge({
      settings: { log_level: 'error' },
      logTo: { write: (line) => log.push(line) },
    })
    desk = await Desk.make()
    url = storeSettings(bridge.data).database ?? ''
    dump = join(desk.folder, 'earlier.sql')
    conversation = await bridge.ada.conversationWith(bridge.ben.id)
    await bridge.ada.send(conversation, bridge.ben.id, 'before the backup')
    execFileSync(join(programs, 'pg_dump'), ['--clean', '--if-exists', '--file', dump, url])
    await bridge.ada.send(conversation, bridge.ben.id, 'lost')
  })
  afterAll(async () => {
    await bridge.close()
    await desk.remove()
  })

  const config = () =>
    readConfig({ data: bridge.data, port: '0', log_level: 'silent', reserve_bytes: '0', database: url }, {})

  /** Loads the earlier state into the same database, as a restore of the cluster to an earlier time does. */
  const load = async () => {
    const how = ['--quiet', '--single-transaction', '--set=ON_ERROR_STOP=1', `--file=${dump}`, url]
    // The node runs in this process. If it stood still within a snapshot, psql would wait for its locks.
    await promisify(execFile)(join(programs, 'psql'), how)
    await onDatabase(bridge.data, (client) =>
      client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()`),
    )
  }

  const bodies = () =>
    onDatabase(bridge.data, async (client) => {
      const { rows } = await client.query<{ body: string }>('SELECT body FROM messages ORDER BY id')
      return rows.map(({ body }) => body)
    })

  const restored = (...flags: string[]) =>
    desk.run(['server', 'restored', '--data', bridge.data, '--database', url, ...flags])

  test('the running node serves nothing, says why, and stays', async () => {
    await load()
    const body = { conversation_id: conversation, recipient_agent_id: bridge.ben.id, type: 'note', body: 'x' }
    await expect
      .poll(async () => (await bridge.ada.call({ target: '/api/v1/messages', body })).json)
      .toMatchObject({ error: 'unavailable' })
    const ready = await fetch(`${bridge.url}/api/ready`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { checks: { database: false } }])
    expect((await fetch(`${bridge.url}/api/health`)).status).toBe(200)
    const told = log.filter((line) => line.includes('bridge server restored'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('the database has lost confirmed writes')
    expect(await bodies()).toEqual(['before the backup'])
  })

  test('the command refuses while the node runs', async () => {
    expect(await restored()).toMatchObject({
      code: 7,
      stderr: expect.stringContaining('another server is using'),
    })
  })

  test('a start is refused and names the command, and so is other work on the host', async () => {
    await bridge.server.stop()
    await expect(startServer(config())).rejects.toThrow(/lost confirmed writes: for .* up to 20.*Z/)
    for (const name of ['start', 'owner-link', 'maintain']) {
      const { BRIDGE_DATABASE_URL } = { BRIDGE_DATABASE_URL: url }
      const ended = await desk.run(['server', name, '--data', bridge.data], {
        environment: { BRIDGE_DATABASE_URL },
      })
      expect(ended).toMatchObject({
        code: 7,
        stdout: '',
        stderr: expect.stringContaining('bridge server restored'),
      })
    }
  })

  test('a node without a witness is refused too, because another one has recorded the loss', async () => {
    const witness = readFileSync(witnessPath(bridge.data))
    rmSync(witnessPath(bridge.data))
    await expect(startServer(config())).rejects.toThrow('another node found: the database has lost')
    writeFileSync(witnessPath(bridge.data), witness)
  })

  test('without the witness, the loss is silent', async () => {
    const witness = readFileSync(witnessPath(bridge.data))
    rmSync(witnessPath(bridge.data))
    // No node has seen this state.
    await load()
    const server = await startServer(config())
    await server.stop()
    writeFileSync(witnessPath(bridge.data), witness)
    await load()
  })

  test('after the command the node serves, old access has ended, and ids continue above the lost ones', async () => {
    const confirmed = Object.values(
      (JSON.parse(readFileSync(witnessPath(bridge.data), 'utf8')) as { lanes: Record<string, string> }).lanes,
    )
    const ended = await restored()
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('2 sessions fenced') })
    expect(ended.stderr).toContain('lost confirmed writes')
    expect(ended.stdout).toContain('held: its agent is disabled')
    const lanes = await onDatabase(bridge.data, async (client) => {
      const { rows } = await client.query<{ last: string }>('SELECT last FROM lanes')
      return rows.map(({ last }) => last)
    })
    for (const last of lanes) expect(last > (confirmed.sort().at(-1) ?? '')).toBe(true)

    expect(await restored()).toMatchObject({ code: 7, stderr: expect.stringContaining('was finished at') })

    const server = await startServer(config())
    expect((await fetch(`${server.url}/api/ready`)).status).toBe(200)
    const { rows } = await onDatabase(bridge.data, (client) =>
      client.query(`SELECT (SELECT count(*)::int FROM sessions WHERE state = 'active') AS active,
        (SELECT count(*)::int FROM audit WHERE kind = 'node.restored') AS restored,
        (SELECT floor > extract(epoch FROM now()) - 600 FROM replay_floor) AS raised,
        (SELECT count(*)::int FROM agents WHERE state = 'enabled') AS enabled`),
    )
    expect(rows).toEqual([{ active: 0, restored: 1, raised: true, enabled: 0 }])
    expect(await bodies()).toEqual(['before the backup'])
    await server.stop()
  })

  test('a dump in another database is refused too, and if it lacks nothing, agents stay enabled', async () => {
    await onDatabase(bridge.data, (client) => client.query("UPDATE agents SET state = 'enabled'"))
    // The number of the database is other than the recorded one.
    await onDatabase(bridge.data, (client) => client.query("UPDATE place SET place = place || '0'"))
    await expect(startServer(config())).rejects.toThrow('loaded from a dump')
    const ended = await restored('--json')
    expect(ended.code).toBe(0)
    expect(JSON.parse(ended.stdout)).toMatchObject({ complete: true, credentials: [{ state: 'good' }, {}] })
    const server = await startServer(config())
    await server.stop()
  })

  test('a host on which the command alone ran since does not vouch for what other nodes confirmed', async () => {
    const loadElsewhere = () =>
      onDatabase(bridge.data, (client) => client.query("UPDATE place SET place = place || '0'"))
    await loadElsewhere()
    expect(JSON.parse((await restored('--json')).stdout)).toMatchObject({ complete: true })
    await loadElsewhere()
    const again = JSON.parse((await restored('--json')).stdout)
    expect(again).toMatchObject({ complete: false, forgotten: expect.stringContaining('loaded from a dump') })
  })

  test('the command runs again if anything was written since', async () => {
    expect((await restored()).code).toBe(7)
    const environment = { BRIDGE_DATABASE_URL: url }
    const link = await desk.run(['server', 'owner-link', '--data', bridge.data], { environment })
    expect(link.code).toBe(0)
    expect((await restored()).code).toBe(0)
  })
})

test.skipIf(isOnPostgres)('on SQLite the command names the one that is right there', async () => {
  const desk = await Desk.make()
  const data = join(desk.folder, 'data')
  await desk.run(['server', 'init', '--data', data])
  const ended = await desk.run(['server', 'restored', '--data', data])
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('bridge server restore FILE') })
  await desk.remove()
})
