/**
 * A store that is damaged, or whose log is: what is not whole is refused with a code of its own and never answered from; what
 * a crash may leave is recovered. Reliability §3.1 F28.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { onHost } from '../../cli/commands/server/settings.ts'
import { readConfig } from '../../server/config.ts'
import { startServer } from '../../server/server.ts'
import { databasePath } from '../../server/store-files.ts'
import { TestAgent } from '../support/agent.ts'
import { startBridge } from '../support/bridge.ts'
import { told } from '../support/files.ts'
import { withStoreCopy } from './store-copy.ts'

/** A folder as a kill leaves it: most of the store lies in the log. */
const killed = mkdtempSync(join(tmpdir(), 'bridge-damage-'))
/** The same, folded into one file. */
const folded = mkdtempSync(join(tmpdir(), 'bridge-damage-'))
let data: string
let reader: TestAgent
let conversation: string
const sent = Array.from({ length: 12 }, (_, index) => `message ${index}`)

beforeAll(async () => {
  const bridge = await startBridge()
  try {
    const { ada, ben } = bridge
    reader = ben
    conversation = await ada.conversationWith(ben.id)
    // With the log empty before, every message lies in it alone.
    const other = new Database(databasePath(bridge.data))
    other.pragma('wal_checkpoint(TRUNCATE)')
    other.close()
    for (const text of sent) await ada.send(conversation, ben.id, text)
    cpSync(bridge.data, killed, { recursive: true })
    await bridge.server.stop()
    cpSync(bridge.data, folded, { recursive: true })
  } finally {
    await bridge.close()
  }
})
afterAll(() => {
  for (const folder of [killed, folded]) rmSync(folder, { recursive: true, force: true })
})

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'bridge-damage-'))
})
afterEach(() => rmSync(data, { recursive: true, force: true }))

/** The server over the folder, as `bridge server start` starts it. */
const start = () =>
  onHost(async (server) => {
    const running = await server.startServer(server.readConfig({ data, port: '0', log_level: 'silent' }, {}))
    await running.stop()
  })

const bodies = (): string[] =>
  withStoreCopy(data, (database) =>
    database.prepare<[], string>('SELECT body FROM messages ORDER BY id').pluck().all(),
  )

function spoil(path: string, act: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path)
  act(bytes)
  writeFileSync(path, bytes)
}

test.each<[string, (path: string) => void]>([
  ['its header is overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 0, 100))],
  ['its first page is overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 100, 4096))],
  ['pages in it are overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 4096 * 5, 4096 * 90))],
  ['it is cut short', (path) => truncateSync(path, 4096 * 20)],
])('a database is refused with exit 15 when %s', async (_what, act) => {
  cpSync(folded, data, { recursive: true })
  act(databasePath(data))
  await expect(start()).rejects.toMatchObject({
    name: 'CommandFailure',
    exit: 'integrity',
    message: expect.stringMatching(/^the database is damaged: /),
    hint: expect.stringContaining('bridge server restore'),
  })
})

test('pages that are found damaged while it serves are answered with 503, and end the process with 1', async () => {
  cpSync(folded, data, { recursive: true })
  const pages = withStoreCopy(data, (database) =>
    database
      .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'")
      .pluck()
      .all(),
  )
  spoil(databasePath(data), (bytes) => {
    for (const page of pages) bytes.fill(9, 4096 * (page - 1), 4096 * page)
  })
  const config = readConfig({ data, port: '0', log_level: 'silent' }, {})
  const server = await startServer(config)
  onTestFinished(() => server.stop())
  const ben = new TestAgent(server.url, reader.keys, reader.enrolled, () => new Date())
  ben.session = reader.session
  const target = `/api/v1/conversations/${conversation}/messages`
  expect(told(await ben.call({ target }))).toEqual([503, 'unavailable'])
  expect(await server.finished).toBe(1)
})

test.each<[how: string, atLeast: number, act: (path: string) => void]>([
  ['as the kill left it', 12, () => {}],
  ['without the index of the log', 12, (path) => rmSync(`${path}-shm`)],
  ['with an index of something else', 12, (path) => writeFileSync(`${path}-shm`, Buffer.alloc(32_768, 7))],
  [
    'with its last write torn',
    11,
    (path) => truncateSync(`${path}-wal`, readFileSync(`${path}-wal`).length - 1000),
  ],
])('a store is recovered %s', async (_how, atLeast, act) => {
  cpSync(killed, data, { recursive: true })
  act(databasePath(data))
  await start()
  const found = bodies()
  expect(found.length).toBeGreaterThanOrEqual(atLeast)
  expect(found).toEqual(sent.slice(0, found.length))
})
