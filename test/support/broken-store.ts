/**
 * Controls: a store that breaks its promises. A check that finds no fault in it is known to be blind.
 *
 * - `answers-before-commit`: COMMIT reports success and commits later. If the process is killed in between,
 *   an answered write is lost.
 * - `no-sync`: every sync is skipped and reported as done.
 *
 * Used by `test/support/server-preload.mjs` only. It replaces methods of the driver before the server opens
 * the database.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'
import pg from 'pg'

type Driver = Database.Database
const driver = Database.prototype as Driver

export type Control = 'answers-before-commit' | 'no-sync'

export function breakStore(control: Control): void {
  if (control === 'no-sync') withoutSync()
  else commitLater()
}

function commitLater(): void {
  commitLaterOnSqlite()
  commitLaterOnPostgres()
}

function withoutSync(): void {
  const { pragma } = driver
  driver.pragma = function (this: Driver, source, options) {
    if (source.startsWith('synchronous = ')) return pragma.call(this, 'synchronous = OFF', options)
    if (source === 'synchronous') return 2
    return pragma.call(this, source, options)
  }
  const never = (_handle: number, done: fs.NoParamCallback) => void setImmediate(() => done(null))
  Object.assign(fs, { fdatasync: never, fdatasyncSync() {} })
  syncBuiltinESMExports()
}

/**
 * Sets a low checkpoint threshold. This is no fault: a checkpoint, otherwise one in thousands of writes,
 * happens often.
 */
export function foldEvery(pages: string): void {
  const { pragma } = driver
  driver.pragma = function (this: Driver, source, options) {
    const isSetting = source.startsWith('wal_autocheckpoint = ')
    return pragma.call(this, isSetting ? `wal_autocheckpoint = ${pages}` : source, options)
  }
}

const laterMs = 200

/**
 * Delays each COMMIT: the next BEGIN of the writer joins the transaction that the last COMMIT only pretended
 * to end.
 */
function commitLaterOnSqlite(): void {
  const { prepare, pragma } = driver
  let commit: (() => void) | undefined
  driver.prepare = function (this: Driver, source: string) {
    const statement = prepare.call(this, source) as { run(): unknown }
    // A reader's COMMIT only ends its snapshot.
    if (this.readonly) return statement
    const run = statement.run.bind(statement)
    if (source === 'BEGIN IMMEDIATE') statement.run = () => (commit === undefined ? run() : nothing)
    if (source === 'COMMIT') {
      statement.run = () => {
        if (commit === undefined) setTimeout(() => commit?.(), laterMs)
        commit ??= () => {
          commit = undefined
          run()
        }
        return nothing
      }
    }
    return statement
  } as Driver['prepare']
  // A clean stop checkpoints the WAL into the file, which an open transaction would prevent.
  driver.pragma = function (this: Driver, source, options) {
    if (source.startsWith('wal_checkpoint')) commit?.()
    return pragma.call(this, source, options)
  }
}

const nothing = { changes: 0, lastInsertRowid: 0 }

/** Answers each COMMIT at once and sends it later. Until then the connection sends nothing else. */
function commitLaterOnPostgres(): void {
  const client = pg.Client.prototype as unknown as { query(statement: { text: string }): Promise<unknown> }
  const { query } = client
  const commits = new WeakMap<object, Promise<unknown>>()
  client.query = function (statement) {
    const before = commits.get(this)
    if (statement.text !== 'COMMIT') {
      return before === undefined
        ? query.call(this, statement)
        : before.then(() => query.call(this, statement))
    }
    const commit = async () => {
      await before
      await delay(laterMs)
      await query.call(this, statement).catch(() => {})
    }
    commits.set(this, commit())
    return Promise.resolve({ rows: [], rowCount: null, command: 'COMMIT' })
  }
}
