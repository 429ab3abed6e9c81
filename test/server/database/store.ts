/** A real store in a temporary folder with its writer and reader, and helpers that store people. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { onTestFinished } from 'vitest'
import { createIds } from '../../../server/database/ids.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { greatestId } from '../../../server/database/sqlite/greatest-id.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openNonces } from '../../../server/database/sqlite/nonces.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { createReader } from '../../../server/database/sqlite/reader.ts'
import { openSteadyClock } from '../../../server/database/sqlite/steady-clock.ts'
import { openWalSync, type WalSync } from '../../../server/database/sqlite/wal-sync.ts'
import { createWriter } from '../../../server/database/sqlite/write-queue.ts'
import type { Tx } from '../../../server/database/tx.ts'

/** A fixed start time; tests move the clock. */
export const start = new Date('2026-01-02T03:04:05.678Z')

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-database-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface StoreOptions {
  readonly path?: string
  readonly maxGroup?: number
  /** The writer's clock for gathering a group. */
  readonly monotonicMs?: () => number
  readonly noncesPerCredential?: number
  /** The first reading of the clocks. */
  readonly time?: { now: Date; monotonicMs: number }
  readonly onFull?: () => void
  readonly isStorageFull?: () => boolean
  readonly onCommit?: () => void
  readonly walSync?: WalSync
  /** Runs on the migrated database before the writer opens it. */
  readonly before?: (database: Database.Database) => void
}

export function openStore(options: StoreOptions = {}) {
  const path = options.path ?? join(temporaryFolder(), 'bridge.db')
  const time = options.time ?? { now: start, monotonicMs: 0 }
  const clock = () => time.now
  const database = openDatabase(path)
  migrate(database, migrations, clock)
  options.before?.(database)
  const nonces = openNonces({
    database,
    clock,
    monotonicMs: () => time.monotonicMs,
    ...(options.noncesPerCredential !== undefined && { perCredential: options.noncesPerCredential }),
  })
  const ids = createIds(greatestId(database), randomBytes)
  const fatal: unknown[] = []
  const effectErrors: unknown[] = []
  const writer = createWriter({
    database,
    walSync: options.walSync ?? openWalSync(database),
    clock,
    monotonicMs: options.monotonicMs ?? (() => performance.now()),
    nonces,
    steady: openSteadyClock({ database, ids, clock, elapsedMs: () => time.monotonicMs, writes: true }),
    ids,
    onFatal: (error) => fatal.push(error),
    onEffectError: (error) => effectErrors.push(error),
    ...(options.maxGroup !== undefined && { maxGroup: options.maxGroup }),
    onFull: options.onFull,
    ...(options.onCommit && { onCommit: options.onCommit }),
    isStorageFull: options.isStorageFull,
  })
  const reader = createReader({ path, durable: writer.durable })
  const bystander = new Database(path, { readonly: true })
  const close = async () => {
    bystander.close()
    await reader.close()
    await writer.close()
    if (writer.state() === 'broken') database.close()
  }
  onTestFinished(close)
  /** The names in the file, as any other process sees them. */
  const names = () => bystander.prepare('SELECT name FROM owner_users ORDER BY name').pluck().all()
  return { path, database, writer, reader, nonces, time, fatal, effectErrors, bystander, names, close }
}

/** Inserts a person. The name is unique. */
export async function add(tx: Tx, name: string, password = 'hash'): Promise<void> {
  await tx.db
    .insertInto('owner_users')
    .values({
      id: tx.id(),
      name,
      role: 'administrator',
      password,
      state: 'enabled',
      created_at: tx.nowIso,
      updated_at: tx.nowIso,
    })
    .execute()
}

/** The rejection reason of each promise, or 'done'. */
export async function outcomes(promises: readonly Promise<unknown>[]): Promise<string[]> {
  const settled = await Promise.allSettled(promises)
  return settled.map((each) => (each.status === 'fulfilled' ? 'done' : nameOf(each.reason)))
}

function nameOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error) return String(error.code)
  return error instanceof Error ? error.name : String(error)
}
