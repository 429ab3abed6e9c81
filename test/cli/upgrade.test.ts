/**
 * The statements of docs/operations.md about an upgrade: waiting clients are notified, nothing is lost, there
 * is no downgrade in place, and there is one by the backup. For reconnecting clients see
 * test/sdk/delivery/restart.test.ts, for stored requests test/sdk/outbox.test.ts, for a killed migration
 * test/faults/migration-kills.test.ts.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../server/database/migrations/index.ts'
import { migrationStatus } from '../../server/database/sqlite/migrate.ts'
import { initServer } from '../../server/host/init.ts'
import { startServer } from '../../server/server.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { startBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { Desk } from '../support/desk.ts'
import { exchange } from '../support/http.ts'
import { onSqlite } from '../support/one-store.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'
import { stored } from '../support/stored.ts'
import { openEvents, openSocket } from '../support/streams.ts'
import { withStore } from '../support/test-store.ts'
import { openWait, untilListening } from '../support/waits.ts'

let desk: Desk
beforeAll(async () => {
  desk = await Desk.make()
})
afterAll(async () => {
  for (const data of made) await dropDatabase(data)
  await desk.remove()
})

test('open waits are notified that the node stops, and continue at the new process in the same session', async () => {
  const bridge = await startBridge()
  onTestFinished(() => bridge.close())
  const { ada, ben } = bridge
  const readers = { ben, cy: await bridge.agent('cy'), dan: await bridge.agent('dan') }
  const poll = openWait(readers.ben)
  const events = openEvents(readers.cy)
  const socket = openSocket(readers.dan)
  for (const reader of Object.values(readers)) await untilListening(bridge, reader)

  await bridge.server.stop()
  expect(await poll.answer).toMatchObject({ status: 200, body: { messages: [] } })
  expect(await events.ended).toBe(200)
  expect(await socket.ended).toBe(1012)
  expect([...events.events, ...socket.events].filter(({ type }) => type === 'refused')).toEqual([])

  bridge.clock.advance(89)
  const next = await bridge.restart()
  onTestFinished(() => next.server.stop())
  for (const reader of Object.values(readers)) {
    await ada.send(await ada.conversationWith(reader.id), reader.id, `for ${reader.name}`)
    expect((await reader.inbox()).messages).toMatchObject([{ body: `for ${reader.name}` }])
  }
})

const made: string[] = []

/** Makes an installation without a running server. */
async function installation(name: string): Promise<string> {
  const data = join(desk.folder, name)
  made.push(data)
  await makeEmptyDatabase(data)
  await initServer(testConfig(data))
  return data
}

/** Changes a database as the next version would: one migration more. */
const upgradedBeyond = (data: string) =>
  withStore(data, (store) => {
    store.exec('CREATE TABLE of_the_next_version (x INTEGER)')
    store
      .prepare('INSERT INTO schema_migrations VALUES (?, ?, ?)')
      .run(migrations.length + 1, 'next', new Date().toISOString())
  })

const server = (...args: string[]) => desk.run(['server', ...args])

describe('a database of a newer program', () => {
  let data: string
  beforeAll(async () => {
    data = await installation('newer')
    upgradedBeyond(data)
  })

  test.each([
    ['start', '--port', '0'],
    ['maintain'],
    ['setup-link'],
    ['owner-link'],
    ['telemetry-token'],
    ['rotate-key'],
  ])('is refused by %s with exit code 7, and not changed', async (...args) => {
    const before = stored(data, { served: false })
    expect(await server(...args, '--data', data)).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringMatching(/^bridge: the database is at migration \d+_next, .*\nhint: /),
    })
    expect(stored(data, { served: false })).toEqual(before)
  })

  test('is reported by the doctor', async () => {
    const { code, stdout } = await server('doctor', '--data', data)
    expect({ code, told: /problem +schema/.test(stdout) }).toEqual({ code: 7, told: true })
    expect(stdout).toMatch(/use the newer version of the program|use the version .* or a newer one/)
  })
})

const { test: sqliteTest } = onSqlite('test/server/postgres/backups.test.ts')
sqliteTest('downgrading restores the backup from before over the newer database, which is kept', async () => {
  const data = await installation('back')
  const file = join(desk.folder, 'before.db')
  expect(await server('backup', file, '--data', data)).toMatchObject({ code: 0 })
  upgradedBeyond(data)
  const restored = await server('restore', file, '--replace', '--data', data, '--json')
  expect(restored.code).toBe(0)
  const { kept } = JSON.parse(restored.stdout) as { kept: string }
  const database = new Database(databasePath(kept), { fileMustExist: true })
  onTestFinished(() => void database.close())
  expect(migrationStatus(database)).toHaveLength(migrations.length + 1)
  const running = await startServer(testConfig(data, { port: '0', log_level: 'silent' }))
  onTestFinished(() => running.stop())
  expect(await exchange(running.url, { method: 'GET', target: '/api/ready', headers: [] })).toMatchObject({
    status: 200,
  })
})

test('the doctor of a new version shows the number of pending migrations', async () => {
  const data = await installation('earlier')
  // The schema is complete, and only the record lacks the steps: the doctor checks no more than that.
  withStore(data, (store) =>
    store.prepare('DELETE FROM schema_migrations WHERE number > ?').run(migrations.length - 2),
  )
  const { code, stdout } = await server('doctor', '--data', data)
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('2 migrations run at the next start'),
  })
})
