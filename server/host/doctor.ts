/**
 * Looking over an installation without changing it: each finding with its remedy.
 *
 * The database is read through a read-only connection beside a server that may run.
 */
import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { Config } from '../config.ts'
import { migrationStatus } from '../database/migrate.ts'
import { migrations } from '../database/migrations/index.ts'
import { openDatabase } from '../database/open.ts'
import { databasePath, readServerId, restoreNotePath } from './data-folder.ts'
import { isEnvelopeKey, readEnvelopeKeys } from './envelope/keys.ts'
import { readCertificate } from './listening/certificate.ts'
import { reservedBytes } from './storage/reserve-file.ts'

export interface Examined {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  readonly remedy?: string
  readonly exit?: 'usage' | 'not_found' | 'integrity' | 'conflict' | 'unexpected'
}

const ok = (check: string, text: string): Examined => ({ check, state: 'ok', text })

export function examine(config: Config, now: Date): Examined[] {
  const { data } = config
  if (existsSync(restoreNotePath(data))) {
    const text = `a restore into ${data} is under way, or was cut off`
    const remedy = 'bridge server start brings it to its end'
    return [{ check: 'data folder', state: 'problem', text, remedy, exit: 'conflict' }]
  }
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
  return [
    ...modes(config),
    envelopeKey(config.envelopeKeyFile),
    space(data),
    reserve(config),
    origin(config),
    ...certificate(config, now),
    ...database(databasePath(data), now),
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
    text: `${path} is open to others of this machine`,
    remedy: `chmod go= ${path}`,
  }))
}

function envelopeKey(path: string): Examined {
  if (isEnvelopeKey(path)) {
    if (readEnvelopeKeys(path).length === 1) return ok('key', 'the envelope key is 32 bytes')
    const text = `${path} holds an old key beside the new one: an exchange was cut off`
    return { check: 'key', state: 'warning', text, remedy: 'bridge server rotate-key' }
  }
  return {
    check: 'key',
    state: 'problem',
    text: `the envelope key ${path} is missing or is not 32 bytes of base64`,
    remedy: 'put it back from a copy; bridge server rotate-key --lost makes a new one',
    exit: 'unexpected',
  }
}

const mib = 1024 * 1024

function space(data: string): Examined {
  const { bavail, bsize } = statfsSync(data)
  const free = Math.floor((bavail * bsize) / mib)
  const text = `${free} MiB are free for ${data}`
  if (free >= 1024) return ok('disk', text)
  const remedy = 'make room: a full disk answers every write with 503 storage_full'
  return free < 64
    ? { check: 'disk', state: 'problem', text, remedy, exit: 'unexpected' }
    : { check: 'disk', state: 'warning', text, remedy }
}

/** A server makes it when it runs, and again when there is room. */
function reserve({ data, reserveBytes }: Config): Examined {
  if (reserveBytes === 0) return ok('reserve', 'none is kept: reserve_bytes is 0')
  const bytes = reservedBytes(data)
  if (bytes > 0) return ok('reserve', `${Math.floor(bytes / mib)} MiB are kept for a full disk`)
  const { bavail, bsize } = statfsSync(data)
  if (bavail * bsize >= 2 * reserveBytes) return ok('reserve', 'a server that runs makes it')
  const text = `there is none, and no room for ${Math.ceil(reserveBytes / mib)} MiB: the disk is, or was, full`
  return { check: 'reserve', state: 'warning', text, remedy: 'make room; it is made again by itself' }
}

function origin({ host, portalOrigin, tls, trustedProxies }: Config): Examined {
  const shown = portalOrigin === '' ? 'the address itself' : portalOrigin
  const behind = portalOrigin.startsWith('https:') && tls === undefined && trustedProxies.length === 0
  if (!behind) return ok('origin', `${shown}, listening on ${host}`)
  return {
    check: 'origin',
    state: 'warning',
    text: `${portalOrigin} means a TLS proxy in front, and none is listed: all clients have its address`,
    remedy: 'list it: --trusted-proxy 127.0.0.1 for one on this host',
  }
}

const dayMs = 86_400_000

function certificate({ tls }: Config, now: Date): Examined[] {
  if (tls === undefined) return []
  try {
    const { expires } = readCertificate(tls)
    const days = Math.floor((expires.getTime() - now.getTime()) / dayMs)
    if (days >= 14) return [ok('tls', `${tls.cert} holds for ${days} more days`)]
    const remedy = 'renew it; SIGHUP makes the server read it at once'
    return days < 0
      ? [{ check: 'tls', state: 'problem', text: `${tls.cert} has expired`, remedy, exit: 'usage' }]
      : [{ check: 'tls', state: 'warning', text: `${tls.cert} holds for ${days} more days`, remedy }]
  } catch (error) {
    const text = (error as Error).message
    return [
      { check: 'tls', state: 'problem', text, remedy: 'name a pair that belongs together', exit: 'usage' },
    ]
  }
}

/** One look at every page: a few seconds a gigabyte. */
function database(path: string, now: Date): Examined[] {
  let opened: Database.Database | undefined
  try {
    opened = openDatabase(path, { readonly: true })
    const [found] = opened.pragma('quick_check(1)') as { quick_check: string }[]
    if (found?.quick_check !== 'ok') return [damaged(path, found?.quick_check ?? 'it does not say')]
    return [
      ok('database', 'whole, page by page'),
      ...schema(opened),
      ...journal(opened, path),
      ...clock(opened, now),
    ]
  } catch (error) {
    return [damaged(path, (error as Error).message)]
  } finally {
    opened?.close()
  }
}

const damaged = (path: string, why: string): Examined => ({
  check: 'database',
  state: 'problem',
  text: `${path} is damaged: ${why}`,
  remedy: 'stop the server; bridge server restore BACKUP --replace puts the last backup in its place',
  exit: 'integrity',
})

function schema(database: Database.Database): Examined[] {
  const done = migrationStatus(database).length
  if (done > migrations.length) {
    const text = `the database is at migration ${done}, this program knows ${migrations.length}`
    return [{ check: 'schema', state: 'problem', text, remedy: 'run the newer program', exit: 'conflict' }]
  }
  if (done === 0 || readServerId(database) === undefined) {
    const text = 'the installation was not made completely'
    return [
      {
        check: 'schema',
        state: 'problem',
        text,
        remedy: 'bridge server init in another folder',
        exit: 'not_found',
      },
    ]
  }
  const pending = migrations.length - done
  return [
    ok('schema', pending === 0 ? `at migration ${done}` : `${pending} migrations run at the next start`),
  ]
}

/** Where a backup gives up: no reader of the node's own lets the log grow further. */
const longLogMib = 256

function journal(database: Database.Database, path: string): Examined[] {
  const mode = database.pragma('journal_mode', { simple: true })
  if (mode !== 'wal') {
    const text = `the database is in ${mode} mode instead of WAL`
    return [{ check: 'journal', state: 'warning', text, remedy: 'the next start sets it; use a local disk' }]
  }
  const logMib = Math.ceil((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) / mib)
  if (logMib <= longLogMib) return [ok('journal', 'write-ahead, synced at every commit')]
  const text = `the log of the database has grown to ${logMib} MiB: another program holds a transaction open`
  const remedy = `end that program, which fuser ${path} names; the log is then folded by itself`
  return [{ check: 'journal', state: 'warning', text, remedy }]
}

/** What is stored cannot be of the future. */
function clock(database: Database.Database, now: Date): Examined[] {
  const sql = 'SELECT max(applied_at) FROM schema_migrations'
  const written = database.prepare<[], string | null>(sql).pluck().get() ?? ''
  if (written <= new Date(now.getTime() + 60_000).toISOString())
    return [ok('clock', 'not behind what is stored')]
  const text = `this machine's clock is behind ${written}, when the database was last brought up to date`
  return [{ check: 'clock', state: 'problem', text, remedy: "set this machine's clock", exit: 'unexpected' }]
}
