/**
 * The findings of `bridge server doctor` about a PostgreSQL database, each with its remedy and exit code. For
 * those about the host see test/cli/doctor-findings.test.ts. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { witnessPath } from '../../../server/storage/data-folder.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { dropDatabase, isOnPostgres, makeEmptyDatabase, onDatabase } from '../../support/postgres.ts'
import { expectSame, stored } from '../../support/stored.ts'
import { tamper } from '../../support/tamper.ts'

interface Found {
  readonly check: string
  readonly state: string
  readonly text: string
  readonly remedy: string | null
  readonly exit_code: number | null
}

describe.skipIf(!isOnPostgres)('bridge server doctor', () => {
  let bridge: TestBridge
  let desk: Desk
  beforeAll(async () => {
    bridge = await startBridge()
    desk = await Desk.make()
    await bridge.server.stop()
  })
  afterAll(async () => {
    await desk.remove()
    await bridge.close()
  })

  const doctor = async (data = bridge.data) => {
    const { code, stdout } = await desk.run(['server', 'doctor', '--json', '--data', data])
    const { findings } = JSON.parse(stdout) as { findings: Found[] }
    return { code, of: (check: string) => findings.filter((each) => each.check === check) }
  }

  test('finds nothing but a missing standby, and changes nothing', async () => {
    const before = stored(bridge.data, { served: false })
    const { code, of } = await doctor()
    expect(code).toBe(0)
    expect(of('database')).toMatchObject([{ state: 'ok', text: expect.stringMatching(/^PostgreSQL \d/) }])
    expect(of('schema')).toMatchObject([{ state: 'ok', text: expect.stringMatching(/^at migration \d+$/) }])
    expect(of('history')).toMatchObject([
      { state: 'ok', text: 'holds everything that it confirmed to this node' },
    ])
    expect(of('durability')).toMatchObject([
      { state: 'warning', remedy: expect.stringContaining('synchronous_standby_names') },
    ])
    expectSame([stored(bridge.data, { served: false })], [before])
  })

  test('finds that the database lacks writes that it confirmed, and names the command', async () => {
    const path = witnessPath(bridge.data)
    const witnessed = readFileSync(path, 'utf8')
    onTestFinished(() => writeFileSync(path, witnessed))
    const { lanes, ...rest } = JSON.parse(witnessed) as { lanes: Record<string, string> }
    const raised = Object.fromEntries(Object.keys(lanes).map((lane) => [lane, `f${lanes[lane]?.slice(1)}`]))
    writeFileSync(path, JSON.stringify({ ...rest, lanes: raised }))
    const { code, of } = await doctor()
    expect([code, ...of('history')]).toMatchObject([
      7,
      {
        state: 'problem',
        text: expect.stringContaining('has lost confirmed writes'),
        remedy: expect.stringContaining('bridge server restored'),
      },
    ])
  })

  test('finds that the database was loaded from a dump', async () => {
    const change = (sql: string) => tamper(bridge.data, (store) => store.exec(sql))
    change("UPDATE place SET place = place || '0'")
    const { code, of } = await doctor()
    change('UPDATE place SET place = substr(place, 1, length(place) - 1)')
    expect([code, ...of('history')]).toMatchObject([
      7,
      { state: 'problem', text: expect.stringContaining('loaded from a dump') },
    ])
    expect((await doctor()).code).toBe(0)
  })

  test('finds a key with which nothing of this installation is sealed', async () => {
    const path = join(bridge.data, 'envelope.key')
    const key = readFileSync(path)
    onTestFinished(() => writeFileSync(path, key))
    expect((await doctor()).of('key')).toMatchObject([{ state: 'ok' }])
    writeFileSync(path, `${Buffer.alloc(32, 7).toString('base64')}\n`)
    const { code, of } = await doctor()
    expect([code, ...of('key')]).toMatchObject([
      7,
      { state: 'ok' },
      {
        state: 'problem',
        text: expect.stringContaining('is not the envelope key'),
        remedy: expect.stringMatching(/bridge server rotate-key .*--lost/),
      },
    ])
  })

  test('finds a database without an installation', async () => {
    const data = join(desk.folder, 'empty')
    await makeEmptyDatabase(data)
    onTestFinished(() => dropDatabase(data))
    const { of } = await doctor(data)
    expect(of('schema')).toMatchObject([
      { state: 'problem', exit_code: 3, remedy: expect.stringContaining('bridge server init') },
    ])
    const tables = await onDatabase(data, (client) =>
      client.query("SELECT to_regclass('schema_migrations') AS it"),
    )
    expect([tables.rows, existsSync(data)]).toEqual([[{ it: null }], false])
  })

  test('finds a database that does not answer, and one that may lose commits', async () => {
    const missing = await doctor(join(desk.folder, 'missing'))
    expect([missing.code, ...missing.of('database')]).toMatchObject([
      1,
      { state: 'problem', text: expect.stringContaining('does not exist'), remedy: expect.any(String) },
    ])
    const set = (value: string) =>
      onDatabase(bridge.data, async (client) => {
        const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name')
        await client.query(`ALTER DATABASE ${rows[0]?.name} SET synchronous_commit = ${value}`)
      })
    await set('off')
    const unsafe = await doctor()
    await set('on')
    expect([unsafe.code, ...unsafe.of('database')]).toMatchObject([
      1,
      {
        state: 'problem',
        text: expect.stringContaining('synchronous_commit is off'),
        remedy: expect.any(String),
      },
    ])
  })
})
