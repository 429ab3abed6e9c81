/**
 * A store or WAL that is damaged: the server refuses it with a separate exit code and never answers from it.
 * It recovers every state that a crash may leave. BRIDGE_POSITIONS=40 damages more positions. Reliability
 * §3.1 F28.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { onHost } from '../../cli/commands/server/settings.ts'
import { readConfig } from '../../server/config.ts'
import { startServer } from '../../server/server.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { TestAgent } from '../support/agent.ts'
import { startBridge } from '../support/bridge.ts'
import { told } from '../support/files.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { withStoreCopy } from '../support/store-copy.ts'

sqliteOnly('test/faults/postgres/damage.test.ts')

const positions = Number(process.env.BRIDGE_POSITIONS ?? 0)
const isFull = positions > 0

/** A folder as a kill leaves it: most of the store is in the WAL. */
const killed = mkdtempSync(join(tmpdir(), 'bridge-damage-'))
/** The same store, checkpointed into one file. */
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
    // The WAL is empty at this point, so every later message is only in the WAL.
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

/** Starts the server on the folder, as `bridge server start` does. */
const start = () =>
  onHost(async (server) => {
    const running = await server.startServer(server.readConfig({ data, port: '0', log_level: 'silent' }, {}))
    await running.stop()
  })

const bodies = (): string[] =>
  withStoreCopy(data, (database) =>
    database.prepare<string>('SELECT body FROM messages ORDER BY id').pluck().all(),
  )

function spoil(path: string, act: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path)
  act(bytes)
  writeFileSync(path, bytes)
}

const spoilt: readonly [how: string, act: (path: string) => void][] = [
  ['its header is overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 0, 100))],
  ['its first page is overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 100, 4096))],
  ['pages in it are overwritten', (path) => spoil(path, (bytes) => bytes.fill(9, 4096 * 5, 4096 * 90))],
  ['it is cut short', (path) => truncateSync(path, 4096 * 20)],
]

test.each(isFull ? spoilt : spoilt.slice(1, 3))(
  'a database is refused with exit code 15 if %s',
  async (_what, act) => {
    cpSync(folded, data, { recursive: true })
    act(databasePath(data))
    await expect(start()).rejects.toMatchObject({
      name: 'CommandError',
      exit: 'integrity',
      message: expect.stringMatching(/^the database is damaged: /),
      hint: expect.stringContaining('bridge server restore'),
    })
  },
)

test.each(['messages', 'projects'])(
  'if the running server finds damaged pages of %s, it answers 503 and exits 1',
  async (table) => {
    cpSync(folded, data, { recursive: true })
    const pages = withStoreCopy(data, (database) =>
      database
        .prepare<number>("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'")
        .pluck()
        .all(table),
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
  },
)

const left: readonly [how: string, atLeast: number, act: (path: string) => void][] = [
  ['as the kill left it', 12, () => {}],
  ['without the WAL index', 12, (path) => rmSync(`${path}-shm`)],
  ['with a wrong WAL index', 12, (path) => writeFileSync(`${path}-shm`, Buffer.alloc(32_768, 7))],
  [
    'with its last write torn',
    11,
    (path) => truncateSync(`${path}-wal`, readFileSync(`${path}-wal`).length - 1000),
  ],
]

test.each(isFull ? left : left.slice(2))('a store is recovered %s', async (_how, atLeast, act) => {
  cpSync(killed, data, { recursive: true })
  act(databasePath(data))
  await start()
  const found = bodies()
  expect(found.length).toBeGreaterThanOrEqual(atLeast)
  expect(found).toEqual(sent.slice(0, found.length))
})

/** Replaces each page of the file in turn: every answer is the stored data or a refusal. */
test.runIf(isFull)(
  'no answer is made from a replaced page',
  { timeout: 300_000 + positions * 5000 },
  async () => {
    const pages = readFileSync(databasePath(folded)).length / 4096
    const refused = { start: 0, answer: 0 }
    for (let position = 1; position <= positions; position += 1) {
      rmSync(data, { recursive: true, force: true })
      cpSync(folded, data, { recursive: true })
      const page = Math.floor((position * pages) / (positions + 1))
      spoil(databasePath(data), (bytes) => bytes.fill(0xa5, 4096 * page, 4096 * (page + 1)))
      const server = await startServer(readConfig({ data, port: '0', log_level: 'silent' }, {})).catch(
        () => undefined,
      )
      if (server === undefined) {
        refused.start += 1
        continue
      }
      const ben = new TestAgent(server.url, reader.keys, reader.enrolled, () => new Date())
      ben.session = reader.session
      const { status, json } = await ben.call({ target: `/api/v1/conversations/${conversation}/messages` })
      if (status === 200) {
        const { messages } = json as { messages: { body: string }[] }
        expect(
          messages.map(({ body }) => body),
          `page ${page}`,
        ).toEqual(sent)
      } else refused.answer += 1
      await server.stop()
    }
    process.stderr.write(
      `${positions} pages: ${refused.start} refused the start, ${refused.answer} an answer\n`,
    )
  },
)
