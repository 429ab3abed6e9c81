/**
 * Examines an installation without changing it. Each finding names its remedy.
 *
 * The database is read through a read-only connection, so a server may run meanwhile.
 */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { shellWord } from '../../sdk/contract/spelling.ts'
import type { Config } from '../config.ts'
import { MigrationHistoryError } from '../database/migration-history.ts'
import { migrations } from '../database/migrations/index.ts'
import { isDamage } from '../database/sqlite/connection.ts'
import { historyProblem, migrationStatus } from '../database/sqlite/migrate.ts'
import { readMoved } from '../database/sqlite/moving.ts'
import { openDatabase } from '../database/sqlite/open.ts'
import { readServerId } from '../database/sqlite/server-id.ts'
import { readCertificate } from '../listening/certificate.ts'
import { databasePath, moveNotePath, restoreNotePath } from '../storage/data-folder.ts'
import { isEnvelopeKey, readEnvelopeKeys } from '../storage/envelope-keys.ts'
import { reservedBytes } from '../storage/reserve-file.ts'
import { examinePackages } from './doctor-packages.ts'
import { examineDatabase } from './doctor-postgres.ts'
import { type Examined, ok, place } from './findings.ts'

export async function examine(config: Config, now: Date): Promise<Examined[]> {
  const { data } = config
  if (existsSync(restoreNotePath(data))) {
    const text = `a restore into ${data} is running or was interrupted`
    const remedy = 'bridge server start finishes it'
    return [{ check: 'data folder', state: 'problem', text, remedy, exit: 'conflict' }]
  }
  if (existsSync(moveNotePath(data))) {
    const text = `a move into ${data} is running or was interrupted`
    const remedy = 'run the same move again'
    return [{ check: 'data folder', state: 'problem', text, remedy, exit: 'conflict' }]
  }
  const packages = await examinePackages(config.packagesPlace)
  if (config.databaseUrl !== undefined)
    return [...host(config, now), packages, ...(await examineDatabase(config.databaseUrl, config))]
  if (!existsSync(databasePath(data))) {
    return [
      {
        check: 'data folder',
        state: 'problem',
        text: `${data} holds no installation`,
        remedy: `bridge server init --data ${data}`,
        exit: 'not_found',
      },
    ]
  }
  return [...host(config, now), packages, ...database(databasePath(data), now)]
}

/** Checks everything but the database. */
function host(config: Config, now: Date): Examined[] {
  const { data, envelopeKeyFile } = config
  return [
    ...(existsSync(data) ? modes(config) : []),
    envelopeKey(envelopeKeyFile),
    ...(existsSync(data) ? [space(data), reserve(config)] : []),
    origin(config),
    ...certificate(config, now),
  ]
}

function modes({ data, envelopeKeyFile, tls }: Config): Examined[] {
  const inside = readdirSync(data).map((name) => join(data, name))
  const secret = [data, ...inside, envelopeKeyFile, ...(tls === undefined ? [] : [tls.key])]
  const open = [...new Set(secret)].filter((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found !== undefined && (found.mode & (path === tls?.key ? 0o007 : 0o077)) !== 0
  })
  if (open.length === 0) return [ok('data folder', `${data} is private`)]
  return open.map((path) => ({
    check: 'data folder',
    state: 'warning',
    text: `${path} is accessible to other users of this machine`,
    remedy: `chmod go= ${shellWord(path)}`,
  }))
}

function envelopeKey(path: string): Examined {
  if (isEnvelopeKey(path)) {
    if (readEnvelopeKeys(path).length === 1) return ok('key', 'the envelope key is 32 bytes')
    const text = `${path} contains an old key besides the new one: a rotation was interrupted`
    return { check: 'key', state: 'warning', text, remedy: 'bridge server rotate-key' }
  }
  return {
    check: 'key',
    state: 'problem',
    text: `the envelope key ${path} is missing or is not 32 bytes of base64`,
    remedy: 'restore it from a copy, or make a new one: bridge server rotate-key --lost',
    exit: 'unexpected',
  }
}

const mib = 1024 * 1024

function space(data: string): Examined {
  const { bavail, bsize } = statfsSync(data)
  const free = Math.floor((bavail * bsize) / mib)
  const text = `${free} MiB free for ${data}`
  if (free >= 1024) return ok('disk', text)
  const remedy = 'free some space: with a full disk every write is answered 503 storage_full'
  return free < 64
    ? { check: 'disk', state: 'problem', text, remedy, exit: 'unexpected' }
    : { check: 'disk', state: 'warning', text, remedy }
}

/** A missing reserve is normal if no server runs: the server makes it when there is space. */
function reserve({ data, reserveBytes }: Config): Examined {
  if (reserveBytes === 0) return ok('reserve', 'off: reserve_bytes is 0')
  const bytes = reservedBytes(data)
  if (bytes > 0) return ok('reserve', `${Math.floor(bytes / mib)} MiB reserved for a full disk`)
  const { bavail, bsize } = statfsSync(data)
  if (bavail * bsize >= 2 * reserveBytes) return ok('reserve', 'the running server makes it')
  const text = `missing, and no space for ${Math.ceil(reserveBytes / mib)} MiB: the disk is or was full`
  return {
    check: 'reserve',
    state: 'warning',
    text,
    remedy: 'free some space; the server then makes it again automatically',
  }
}

function origin({ host, portalOrigin, tls, trustedProxies }: Config): Examined {
  const shown = portalOrigin === '' ? 'the listening address' : portalOrigin
  const behind = portalOrigin.startsWith('https:') && tls === undefined && trustedProxies.length === 0
  if (!behind) return ok('origin', `${shown}, listening on ${host}`)
  return {
    check: 'origin',
    state: 'warning',
    text: `${portalOrigin} implies a TLS proxy, but trusted_proxy is empty: all clients appear with the address of the proxy`,
    remedy: 'set trusted_proxy, for example --trusted-proxy 127.0.0.1 for a proxy on this host',
  }
}

const dayMs = 86_400_000

function certificate({ tls }: Config, now: Date): Examined[] {
  if (tls === undefined) return []
  try {
    const { expires } = readCertificate(tls)
    const days = Math.floor((expires.getTime() - now.getTime()) / dayMs)
    if (days >= 14) return [ok('tls', `${tls.cert} is valid for ${days} more days`)]
    const remedy = 'renew it; the server reads it within a minute, or immediately on SIGHUP'
    return days < 0
      ? [{ check: 'tls', state: 'problem', text: `${tls.cert} has expired`, remedy, exit: 'usage' }]
      : [{ check: 'tls', state: 'warning', text: `${tls.cert} is valid for ${days} more days`, remedy }]
  } catch (error) {
    const text = (error as Error).message
    return [
      {
        check: 'tls',
        state: 'problem',
        text,
        remedy: 'set tls_cert and tls_key to a matching pair',
        exit: 'usage',
      },
    ]
  }
}

/** Checks every page; takes a few seconds per gigabyte. */
function database(path: string, now: Date): Examined[] {
  let opened: Database.Database | undefined
  try {
    opened = openDatabase(path, { readonly: true })
    const [found] = opened.pragma('quick_check(1)') as { quick_check: string }[]
    if (found?.quick_check !== 'ok') return [damaged(path, found?.quick_check ?? 'no reason given')]
    return [
      ok('database', 'all pages are intact'),
      ...place(readMoved(opened), path),
      ...schema(opened),
      ...journal(opened, path),
      ...clock(opened, now),
    ]
  } catch (error) {
    const reason = (error as Error).message
    return [isDamage(error) ? damaged(path, reason) : unread(path, reason)]
  } finally {
    opened?.close()
  }
}

const damaged = (path: string, reason: string): Examined => ({
  check: 'database',
  state: 'problem',
  text: `${path} is damaged: ${reason}`,
  remedy: 'stop the server and restore the last backup: bridge server restore BACKUP --replace',
  exit: 'integrity',
})

const unread = (path: string, reason: string): Examined => ({
  check: 'database',
  state: 'problem',
  text: `${path} cannot be read: ${reason}`,
  remedy: `check its owner and mode, and the disk; fuser ${path} names the programs that use it`,
  exit: 'unexpected',
})

function schema(database: Database.Database): Examined[] {
  const problem = historyProblem(database, migrations)
  if (problem instanceof MigrationHistoryError) {
    const remedy = 'start the version of the program that made this database, or name another data folder'
    return [{ check: 'schema', state: 'problem', text: problem.message, remedy, exit: 'conflict' }]
  }
  const done = migrationStatus(database).length
  if (done > migrations.length) {
    const text = `the database is at migration ${done}, but this program only knows ${migrations.length}`
    return [
      {
        check: 'schema',
        state: 'problem',
        text,
        remedy: 'use the newer version of the program',
        exit: 'conflict',
      },
    ]
  }
  if (done === 0 || readServerId(database) === undefined) {
    const text = 'the installation is incomplete'
    return [
      {
        check: 'schema',
        state: 'problem',
        text,
        remedy: 'run bridge server init in another folder',
        exit: 'not_found',
      },
    ]
  }
  const pending = migrations.length - done
  return [
    ok('schema', pending === 0 ? `at migration ${done}` : `${pending} migrations run at the next start`),
  ]
}

/** The size at which a backup aborts. No reader of the node itself lets the WAL grow further. */
const longWalMib = 256

function journal(database: Database.Database, path: string): Examined[] {
  const mode = database.pragma('journal_mode', { simple: true })
  if (mode !== 'wal') {
    const text = `the database is in ${mode} mode instead of WAL`
    return [
      {
        check: 'journal',
        state: 'warning',
        text,
        remedy: 'the next start sets WAL mode; the data folder must be on a local disk',
      },
    ]
  }
  const walMib = Math.ceil((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) / mib)
  if (walMib <= longWalMib) return [ok('journal', 'WAL, synced at every commit')]
  const text = `the WAL of the database has grown to ${walMib} MiB: another program holds a transaction open`
  const remedy = `find that program with fuser ${path} and end it; the server then checkpoints automatically`
  return [{ check: 'journal', state: 'warning', text, remedy }]
}

/** Warns if this machine's clock is before the last stored time. */
function clock(database: Database.Database, now: Date): Examined[] {
  const sql = 'SELECT max(applied_at) FROM schema_migrations'
  const written = database.prepare<[], string | null>(sql).pluck().get() ?? ''
  if (written <= new Date(now.getTime() + 60_000).toISOString())
    return [ok('clock', 'the clock is not behind the stored times')]
  const text = `this machine's clock is behind ${written}, the time of the last migration`
  return [{ check: 'clock', state: 'problem', text, remedy: "set this machine's clock", exit: 'unexpected' }]
}
