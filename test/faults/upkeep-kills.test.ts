/**
 * Backup, restore and key replacement, killed at successive system calls, and on a full disk: the remaining
 * files are intact, and the next run completes the operation.
 *
 * Runs only with strace and BRIDGE_POSITIONS=40, which covers that many of each call, until the process
 * finishes. `test/server/backups` and `test/server/envelope` also test the states that a kill can leave,
 * without killing. Reliability §3.1 F30.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { readConfig } from '../../server/config.ts'
import { readServerId } from '../../server/database/sqlite/server-id.ts'
import { checkCopy } from '../../server/host/backups/checking.ts'
import { finishReplacement } from '../../server/host/backups/replacing.ts'
import { initServer } from '../../server/host/init.ts'
import { databasePath } from '../../server/storage/data-folder.ts'
import { readEnvelopeKeys } from '../../server/storage/envelope-keys.ts'
import { decryptWithAny, encrypt } from '../../server/transfers/secrets.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { populate } from '../support/population.ts'
import { canTrace } from '../support/strace.ts'

sqliteOnly('test/server/envelope/rotation.test.ts')

const positions = Number(process.env.BRIDGE_POSITIONS ?? 0)
const isTried = canTrace && positions > 0
const child = fileURLToPath(new URL('../support/upkeep-process.ts', import.meta.url))
const template = mkdtempSync(join(tmpdir(), 'bridge-upkeep-'))
const transferId = '019aa000-0000-7000-8000-00000000000f'

let folder: string
let data: string
let file: string
let ids: { readonly old: string; readonly backup: string }

beforeAll(async () => {
  if (!isTried) {
    process.stderr.write('skipped: BRIDGE_POSITIONS=40, and strace, kill backups, restores and keys\n')
    return
  }
  const of = (name: string) => readConfig({ data: join(template, name) }, {})
  const { serverId: old } = await initServer(of('data'))
  const { serverId: backup } = await initServer(of('other'))
  ids = { old, backup }
  depositIn(join(template, 'data'))
  const { ended } = act('backup', [], { data: join(template, 'other'), file: join(template, 'other.db') })
  expect(await ended).toBe('done')
})
afterAll(() => rmSync(template, { recursive: true, force: true }))

beforeEach(() => renew())
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Restores the initial state, from which every position starts. */
function renew(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  folder = mkdtempSync(join(tmpdir(), 'bridge-upkeep-'))
  cpSync(template, folder, { recursive: true })
  data = join(folder, 'data')
  chmodSync(data, 0o700)
  file = join(folder, 'made', 'b.db')
  mkdirSync(join(folder, 'made'))
}

/** Seals one secret with the key of the folder, and creates two agents. */
function depositIn(of: string): void {
  const { projectId } = populate(of, 2, 1)
  const [key] = readEnvelopeKeys(join(of, 'envelope.key'))
  const database = new Database(databasePath(of))
  database.pragma('foreign_keys = OFF')
  database
    .prepare('INSERT INTO transfer_secrets VALUES (?, ?, ?, ?, ?)')
    .run(
      transferId,
      projectId,
      'x',
      encrypt(key, transferId, 'the secret', randomBytes(12)),
      '2999-01-01T00:00:00.000Z',
    )
  database.close()
}

interface Acting {
  /** `done`, the error's name or code, or `begun` if it was killed. */
  readonly ended: Promise<string>
}

function act(what: string, tracing: readonly string[], places = { data, file }, names = 7): Acting {
  const command = [process.execPath, child, what, places.data, places.file, String(names)]
  const [program = '', ...args] =
    tracing.length === 0 ? command : ['strace', '-f', '-o', '/dev/null', ...tracing, ...command]
  const started = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  started.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  return { ended: once(started, 'close').then(() => said.trim().split('\n').at(-1) ?? '') }
}

/**
 * Kills the process at the nth call of that name on one of the paths. Returns false if there was none and the
 * process finished.
 */
async function killedAt(what: string, call: string, nth: number, paths: readonly string[]): Promise<boolean> {
  const on = paths.flatMap((path) => ['-P', path])
  const ended = await act(what, [...on, '-e', `inject=${call}:signal=SIGKILL:when=${nth}`]).ended
  expect(['begun', 'done']).toContain(ended)
  return ended === 'begun'
}

/** Tries one position after the other, each from the same initial state. Returns the number of kills. */
async function atEach(
  what: string,
  calls: readonly string[],
  paths: () => readonly string[],
  check: () => Promise<void>,
): Promise<number> {
  let kills = 0
  for (const call of calls) {
    for (let nth = 1; nth <= positions; nth += 1) {
      renew()
      const wasKilled = await killedAt(what, call, nth, paths())
      await check()
      if (!wasKilled) break
      kills += 1
    }
  }
  process.stderr.write(`${what}: killed ${kills} times\n`)
  return kills
}

const partial = () => join(folder, 'made', `.b.db.partial-${'07'.repeat(6)}`)
const limit = { timeout: 300_000 + positions * 60_000 }

test.skipIf(!isTried)('a killed backup leaves no file under its name, or a complete one', limit, async () => {
  const calls = ['openat', 'pwrite64', 'fsync', 'link', 'unlink']
  const kills = await atEach(
    'backup',
    calls,
    () => [partial(), `${partial()}-lock`, join(folder, 'made')],
    async () => {
      if (existsSync(file)) expect(checkCopy(file, 'the backup')).toMatchObject({ server_id: ids.old })
      const others = readdirSync(join(folder, 'made')).filter((name) => name !== 'b.db')
      expect(others.filter((name) => !/^\.b\.db\.partial-/.test(name))).toEqual([])
      rmSync(file, { force: true })
      expect(await act('backup', [], { data, file }, 8).ended).toBe('done')
      expect(readdirSync(join(folder, 'made'))).toEqual(['b.db'])
    },
  )
  expect(kills).toBeGreaterThanOrEqual(calls.length - 1)
})

test.skipIf(!isTried)('a backup on a full disk leaves no file', limit, async () => {
  for (let nth = 1; nth <= positions; nth += 1) {
    renew()
    const inject = `inject=pwrite64:error=ENOSPC:when=${nth}+`
    const ended = await act('backup', ['-P', partial(), '-e', inject]).ended
    if (ended === 'done') break
    expect(ended).toBe('SQLITE_FULL')
    expect(readdirSync(join(folder, 'made'))).toEqual([])
  }
})

const idIn = (of: string): string | undefined => {
  const database = new Database(databasePath(of))
  try {
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }])
    return readServerId(database)
  } finally {
    database.close()
  }
}

/**
 * Completes the restore as the next start would, then expects the old installation or the new one, the latter
 * with the old one kept.
 */
async function requireOneOfThem(): Promise<void> {
  finishReplacement(data)
  const now = idIn(data)
  expect([ids.old, ids.backup]).toContain(now)
  const kept = readdirSync(data).filter((name) => name.startsWith('replaced-'))
  const whole = kept.filter((name) => existsSync(databasePath(join(data, name))))
  expect(whole.map((name) => idIn(join(data, name)))).toEqual(now === ids.old ? [] : [ids.old])
  expect(await act('restore', []).ended).toBe('done')
  expect(idIn(data)).toBe(ids.backup)
}

test.skipIf(!isTried)('a killed restore leaves the old installation or the new one', limit, async () => {
  const calls = ['mkdir', 'rename', 'unlink', 'fsync', 'rmdir']
  const paths = () => {
    file = join(folder, 'other.db')
    const staged = join(data, `restoring-${'07'.repeat(6)}`)
    const note = join(data, 'restore.json')
    return [data, staged, databasePath(data), databasePath(staged), note, `${note}.partial`]
  }
  const kills = await atEach('restore', calls, paths, requireOneOfThem)
  expect(kills).toBeGreaterThanOrEqual(calls.length - 1)
})

test.skipIf(!isTried)('a restore on a full disk changes nothing', limit, async () => {
  for (let nth = 1; nth <= positions; nth += 1) {
    renew()
    file = join(folder, 'other.db')
    const staged = databasePath(join(data, `restoring-${'07'.repeat(6)}`))
    const inject = `inject=pwrite64:error=ENOSPC:when=${nth}+`
    const ended = await act('restore', ['-P', staged, '-P', `${staged}-wal`, '-e', inject]).ended
    if (ended === 'done') break
    expect(ended).toMatch(/^(SQLITE_FULL|storage_full|MigrationFailedError)$/)
    expect(idIn(data)).toBe(ids.old)
    expect(readdirSync(data).filter((name) => /^restor|^replaced/.test(name))).toEqual([])
  }
})

const opened = (): string => {
  const database = new Database(databasePath(data), { readonly: true })
  try {
    const sealed = database.prepare<[], Buffer>('SELECT sealed FROM transfer_secrets').pluck().get()
    const keys = readEnvelopeKeys(join(data, 'envelope.key'))
    return decryptWithAny(keys, { transfer_id: transferId, sealed: sealed ?? Buffer.alloc(0) })
  } finally {
    database.close()
  }
}

test.skipIf(!isTried)(
  'if a key replacement is killed at any point, the secret can be opened, then and after the next run',
  limit,
  async () => {
    const calls = ['openat', 'write', 'fsync', 'rename', 'pwrite64', 'fdatasync']
    const paths = () => {
      const key = join(data, 'envelope.key')
      return [key, `${key}.partial`, databasePath(data), `${databasePath(data)}-wal`]
    }
    const kills = await atEach('rotate', calls, paths, async () => {
      expect(opened()).toBe('the secret')
      const before = readFileSync(join(data, 'envelope.key'), 'utf8')
      expect(await act('rotate', []).ended).toBe('done')
      expect(opened()).toBe('the secret')
      const keys = readEnvelopeKeys(join(data, 'envelope.key'))
      expect([keys.length, before.includes(keys[0].toString('base64'))]).toEqual([1, false])
      expect(existsSync(join(data, 'envelope.key.partial'))).toBe(false)
    })
    expect(kills).toBeGreaterThanOrEqual(calls.length - 2)
    expect((statSync(join(data, 'envelope.key')).mode & 0o777).toString(8)).toBe('600')
  },
)
