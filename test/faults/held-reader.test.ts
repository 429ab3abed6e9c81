/**
 * A program reads the database for a long time. The WAL cannot restart from its beginning and grows by every
 * write, but everything else works; once the reader is gone, the WAL shrinks again. A reader of the node
 * itself, which is a backup, gives up before the WAL is too large.
 *
 * The default is some hundred sends. BRIDGE_HELD_MINUTES=10 holds the reader for that time with twenty sends
 * per second, beside a backup that is too slow to finish. Reliability §3.1 F27.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { databasePath } from '../../server/storage/data-folder.ts'
import { startBridge } from '../support/bridge.ts'
import { exchange } from '../support/http.ts'
import { sqliteOnly } from '../support/one-store.ts'

sqliteOnly('test/server/postgres/held-reader.test.ts')

const minutes = Number(process.env.BRIDGE_HELD_MINUTES ?? 0)
const isFull = minutes > 0
const mib = 1024 * 1024
/** A checkpoint starts at 4000 pages: fewer sends would not show that it is blocked. */
const fewSends = 250
const backupBound = 256 * mib
const folder = mkdtempSync(join(tmpdir(), 'bridge-held-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A snapshot that another program holds until the connection is closed. */
function holdSnapshot(path: string): Database.Database {
  const reader = new Database(path, { readonly: true })
  onTestFinished(() => void reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM messages').get()
  return reader
}

/** A backup in a separate process that takes five seconds per page. Resolves with its outcome. */
function slowBackup(data: string): { readonly ended: Promise<string>; isOver(): boolean } {
  const script = fileURLToPath(new URL('../support/upkeep-process.ts', import.meta.url))
  const args = [script, 'backup that is slow', data, join(folder, 'slow.db')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const ended = once(child, 'close').then(() => said.trim().split('\n').at(-1) ?? '')
  return { ended, isOver: () => child.exitCode !== null }
}

test(`the WAL shrinks again after a reader was held for ${isFull ? `${minutes} minutes` : `${fewSends} sends`}`, {
  timeout: 300_000 + minutes * 90_000,
}, async () => {
  const bridge = await startBridge()
  onTestFinished(() => bridge.close())
  const path = databasePath(bridge.data)
  const { id } = await bridge.owner.createProject('held', { policy: { message_budget: 1_000_000 } })
  const [cy, dan] = [await bridge.agent('cy', id), await bridge.agent('dan', id)]
  const conversation = await cy.conversationWith(dan.id)
  const log = () => statSync(`${path}-wal`).size
  const text = 'x'.repeat(8000)
  const sends = async (count: number, times: number[] = []) => {
    for (let sent = 0; sent < count; sent += 1) {
      const began = performance.now()
      await cy.send(conversation, dan.id, text)
      times.push(performance.now() - began)
    }
  }

  const reader = holdSnapshot(path)
  const backup = isFull ? slowBackup(bridge.data) : undefined
  const before = log()
  const times: number[] = []
  let logOfBackup = 0
  const until = Date.now() + minutes * 60_000
  do {
    await sends(isFull ? 1 : fewSends, times)
    if (backup?.isOver() === false) logOfBackup = log()
    if (isFull) await delay(50)
  } while (isFull && Date.now() < until)
  const held = log()
  // Pages that the reader needs were not checkpointed, and everything else continues.
  expect(held - before).toBeGreaterThan(16 * mib)
  const health = { method: 'GET', target: '/api/ready', headers: [] } as const
  expect(await exchange(bridge.url, health)).toMatchObject({ status: 200, json: { ready: true } })
  expect((await dan.inbox()).messages.length).toBeGreaterThan(0)
  expect(reader.prepare('SELECT count(*) FROM messages').pluck().get()).toBe(0)
  if (backup !== undefined) {
    expect(logOfBackup).toBeLessThan(backupBound + 16 * mib)
    if (held > backupBound) expect(await backup.ended).toBe('BackupInterruptedError')
    if (held > backupBound) expect(readdirSync(folder)).toEqual([])
  }

  reader.close()
  // The same amount again: the WAL would be twice as long if it did not restart from its beginning.
  await sends(fewSends)
  expect(log()).toBeLessThan(held + 4 * mib)
  times.sort((one, other) => one - other)
  const figures = [times.length, held >> 20, logOfBackup >> 20, times[times.length >> 1], times.at(-1)]
  process.stderr.write(
    `sends, MiB of log, of these with the backup, median ms, longest ms: ${figures.map((each) => Math.round(Number(each))).join(', ')}\n`,
  )
})
