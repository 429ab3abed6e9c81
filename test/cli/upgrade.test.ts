/**
 * What docs/operations.md says of an upgrade: who waits is told, nothing is lost, there is no way back in place, and there
 * is one by the backup. That clients come again by themselves is in test/sdk/delivery/restart.test.ts, that what they send
 * meanwhile is kept in test/sdk/outbox.test.ts, a migration that is killed in test/faults/migration-kills.test.ts.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { migrationStatus } from '../../server/database/migrate.ts'
import { migrations } from '../../server/database/migrations/index.ts'
import { databasePath } from '../../server/host/data-folder.ts'
import { initServer } from '../../server/host/init.ts'
import { startServer } from '../../server/server.ts'
import { stored } from '../server/refusals/stored.ts'
import { startBridge } from '../support/bridge.ts'
import { exchange } from '../support/http.ts'
import { openEvents, openSocket } from '../support/streams.ts'
import { openWait, untilListening } from '../support/waits.ts'
import { Desk } from './desk.ts'

let desk: Desk
beforeAll(async () => {
  desk = await Desk.make()
})
afterAll(() => desk.remove())

test('waits are told that the node stops, and read on at the new process in the session that they have', async () => {
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

/** An installation that nobody serves. */
async function installation(name: string): Promise<string> {
  const data = join(desk.folder, name)
  await initServer(readConfig({ data }, {}))
  return data
}

function inDatabase<T>(data: string, act: (database: Database.Database) => T): T {
  const database = new Database(databasePath(data), { fileMustExist: true })
  try {
    return act(database)
  } finally {
    database.close()
  }
}

/** As the next version leaves it: one step further. */
const upgradedBeyond = (data: string) =>
  inDatabase(data, (database) => {
    database.exec('CREATE TABLE of_the_next_version (x INTEGER) STRICT')
    database
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
  ])('is refused by %s with exit code 7, and nothing is changed', async (...args) => {
    const before = stored(data)
    expect(await server(...args, '--data', data)).toMatchObject({
      code: 7,
      stdout: '',
      stderr: expect.stringMatching(/^bridge: the database is at migration \d+_next, .*\nhint: /),
    })
    expect(stored(data)).toEqual(before)
  })

  test('is what the doctor finds', async () => {
    const { code, stdout } = await server('doctor', '--data', data)
    expect({ code, told: /problem +schema/.test(stdout) }).toEqual({ code: 7, told: true })
    expect(stdout).toContain('use the newer version of the program')
  })
})

test('the way back: the backup from before takes the place of the newer database, which is kept', async () => {
  const data = await installation('back')
  const file = join(desk.folder, 'before.db')
  expect(await server('backup', file, '--data', data)).toMatchObject({ code: 0 })
  upgradedBeyond(data)
  const restored = await server('restore', file, '--replace', '--data', data, '--json')
  expect(restored.code).toBe(0)
  const { kept } = JSON.parse(restored.stdout) as { kept: string }
  expect(inDatabase(kept, migrationStatus)).toHaveLength(migrations.length + 1)
  const running = await startServer(readConfig({ data, port: '0', log_level: 'silent' }, {}))
  onTestFinished(() => running.stop())
  expect(await exchange(running.url, { method: 'GET', target: '/api/ready', headers: [] })).toMatchObject({
    status: 200,
  })
})

test('the doctor of a new version tells how many steps will run', async () => {
  const data = await installation('earlier')
  // Nothing is left out of the schema, so that only the record tells: the doctor asks no more than that.
  inDatabase(data, (database) =>
    database.prepare('DELETE FROM schema_migrations WHERE number > ?').run(migrations.length - 2),
  )
  const { code, stdout } = await server('doctor', '--data', data)
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringContaining('2 migrations run at the next start'),
  })
})
