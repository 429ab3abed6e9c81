/** The reader opens few connections at a time, above all to a server that has just come back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  DatabaseUnreachableError,
  type PostgresConnection,
} from '../../../server/database/postgres/connection.ts'
import { Opening } from '../../../server/database/postgres/opening.ts'
import { ReadPool, type ReadPoolOptions } from '../../../server/database/postgres/read-pool.ts'

const place = { host: '127.0.0.1', port: 5432, database: 'bridge' }
const unreachable = () => new DatabaseUnreachableError(place as never, new Error('it is starting up'))
const long = 60_000

/** The pool uses nothing else of a connection. */
interface Stand {
  isBroken: boolean
  isClosed: boolean
  close(): Promise<void>
}

class Database {
  isAway = false
  readonly opened: Stand[] = []
  tries = 0

  readonly open = async (): Promise<PostgresConnection> => {
    this.tries += 1
    await sleep(1)
    if (this.isAway) throw unreachable()
    const stand: Stand = {
      isBroken: false,
      isClosed: false,
      async close() {
        this.isClosed = true
      },
    }
    this.opened.push(stand)
    return stand as unknown as PostgresConnection
  }

  /** As a server does that ends all its processes. */
  crash(): void {
    for (const each of this.opened) each.isBroken = true
    this.isAway = true
  }
}

function poolOf(database: Database, given: Partial<ReadPoolOptions> = {}): ReadPool {
  const opening = new Opening(() => 0, { holdsMs: 5 })
  return new ReadPool({ opening, open: database.open, most: 4, restsMs: long, lateMs: long, ...given })
}

/** Takes a connection, holds it for a moment and gives it back. Returns it. */
async function use(pool: ReadPool): Promise<PostgresConnection> {
  const { connection } = await pool.take()
  await sleep(1)
  pool.give(connection)
  return connection
}

const several = <T>(count: number, act: () => Promise<T>) => Promise.all(Array.from({ length: count }, act))

test('callers that come at the same time share the first connection one after another', async () => {
  const database = new Database()
  const pool = poolOf(database)
  expect(new Set(await several(6, () => use(pool))).size).toBe(1)
  expect(database.opened.length).toBe(1)
})

test('a further connection is opened after a rest, if none is idle, and no more than there may be', async () => {
  const database = new Database()
  const pool = poolOf(database, { restsMs: 20, most: 3 })
  const begunMs = performance.now()
  const first = await pool.take()
  expect(first.isNew).toBe(true)
  const second = await pool.take()
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(19)
  expect(second.isNew).toBe(true)
  await pool.take()
  const fourth = pool.take()
  await sleep(60)
  expect(database.opened.length).toBe(3)
  pool.give(first.connection)
  expect(await fourth).toEqual({ connection: first.connection, isNew: false })
})

test('while a connection is idle, none is opened', async () => {
  const database = new Database()
  const pool = poolOf(database, { restsMs: 0 })
  for (let count = 0; count < 5; count += 1) await use(pool)
  expect(database.opened.length).toBe(1)
})

test('after a crash one connection serves all callers, however many there were', async () => {
  const database = new Database()
  const pool = poolOf(database, { restsMs: 500 })
  const taken = await several(3, () => pool.take())
  expect(database.opened.length).toBe(3)
  database.crash()
  for (const { connection } of taken) pool.give(connection)
  const served = several(8, () => use(pool))
  await sleep(20)
  database.isAway = false
  expect(new Set(await served).size).toBe(1)
  expect(database.opened.length).toBe(4)
})

test('a spare connection that cannot be opened refuses nobody: the others serve', async () => {
  const database = new Database()
  const pool = poolOf(database, { restsMs: 20 })
  const { connection } = await pool.take()
  database.isAway = true
  const waiting = pool.take()
  while (database.tries < 3) await sleep(5)
  pool.give(connection)
  expect(await waiting).toEqual({ connection, isNew: false })
  database.isAway = false
  expect((await pool.take()).isNew).toBe(true)
})

test('if the last usable connection breaks while a spare one cannot be opened, its callers learn it', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs, { holdsMs: 5 })
  const pool = poolOf(database, { restsMs: 20, opening })
  const { connection } = await pool.take()
  const refused = Promise.allSettled([pool.take(), pool.take()])
  database.crash()
  pool.give(connection)
  await sleep(50)
  nowMs = 1500
  expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

test('a broken connection is not given out again, and does not count', async () => {
  const database = new Database()
  const pool = poolOf(database, { most: 1 })
  const { connection } = await pool.take()
  const next = pool.take()
  for (const each of database.opened) each.isBroken = true
  pool.give(connection)
  expect((await next).isNew).toBe(true)
  expect((await next).connection).not.toBe(connection)
})

test('a failure is that of each caller that waits, and the next caller tries again', async () => {
  const database = new Database()
  database.isAway = true
  let nowMs = 0
  const opening = new Opening(() => nowMs, { holdsMs: 5 })
  const pool = poolOf(database, { opening })
  const refused = Promise.allSettled([pool.take(), pool.take(), pool.take()])
  await sleep(20)
  nowMs = 1500
  expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  database.isAway = false
  await sleep(20)
  expect((await pool.take()).isNew).toBe(true)
})

test('a caller waits for one slow try of a lasting outage, not for one of each caller before it', async () => {
  const database = new Database()
  database.isAway = true
  let nowMs = 0
  const opening = new Opening(() => nowMs, { holdsMs: 5, othersWaitMs: 10 })
  const pool = poolOf(database, { opening })
  const waiting = several(4, () => pool.take().catch((error: unknown) => error))
  // A try of that length holds for no other link.
  nowMs = 5000
  for (const error of await waiting) expect(error).toBeInstanceOf(DatabaseUnreachableError)
  expect(database.tries).toBe(1)
})

test('if the last connection breaks during a slow spare try of a lasting outage, it is the last try', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs, { holdsMs: 5, othersWaitMs: 10 })
  const pool = poolOf(database, { restsMs: 10, opening })
  const { connection } = await pool.take()
  const waiting = several(3, () => pool.take().catch((error: unknown) => error))
  database.isAway = true
  while (database.tries < 2) await Promise.race([sleep(1), waiting])
  database.crash()
  nowMs = 5000
  for (const error of await waiting) expect(error).toBeInstanceOf(DatabaseUnreachableError)
  expect(database.tries).toBe(2)
  pool.give(connection)
})

test('a failed spare try refuses nobody if a connection was given back meanwhile', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs, { holdsMs: 5, othersWaitMs: 10 })
  const pool = poolOf(database, { restsMs: 10, opening })
  const { connection } = await pool.take()
  database.isAway = true
  const waiting = pool.take()
  while (database.tries < 2) await Promise.race([sleep(1), waiting])
  pool.give(connection)
  nowMs = 5000
  expect(await waiting).toEqual({ connection, isNew: false })
})

test('a slow try that fails refuses no other caller while another try is under way', async () => {
  const database = new Database()
  const slow = Promise.withResolvers<never>()
  const next = Promise.withResolvers<void>()
  let tries = 0
  let nowMs = 0
  const open = async () => {
    tries += 1
    if (tries === 1) return slow.promise
    await next.promise
    return database.open()
  }
  const opening = new Opening(() => nowMs, { holdsMs: 5, othersWaitMs: 10 })
  const pool = poolOf(database, { opening, open, lateMs: 20, most: 2 })
  const first = expect(pool.take()).rejects.toThrow('it is starting up')
  const second = pool.take()
  const third = pool.take()
  while (tries < 2) await sleep(1)
  nowMs = 5000
  slow.reject(unreachable())
  await first
  next.resolve()
  const { connection } = await second
  pool.give(connection)
  expect((await third).connection).toBe(connection)
})

test('a start that hangs keeps others only so long, and a database that is away is no such start', async () => {
  const database = new Database()
  const { promise: never, resolve } = Promise.withResolvers<void>()
  let isFirst = true
  const open = async () => {
    const hangs = isFirst
    isFirst = false
    if (hangs) await never
    return database.open()
  }
  const opening = new Opening(() => performance.now(), { othersWaitMs: 10 })
  const pool = poolOf(database, { opening, open, lateMs: 20 })
  const hanging = pool.take()
  expect((await pool.take()).isNew).toBe(true)
  resolve()
  expect((await hanging).isNew).toBe(true)

  const other = new Database()
  other.isAway = true
  const patient = poolOf(other, { lateMs: 10 })
  const answers = [patient.take(), patient.take(), patient.take()]
  await sleep(60)
  const before = other.tries
  await sleep(100)
  // One caller tries for all.
  expect(other.tries - before).toBeLessThan(25)
  other.isAway = false
  patient.give((await answers[0])?.connection as PostgresConnection)
  patient.give((await answers[1])?.connection as PostgresConnection)
  expect(other.opened.length).toBe(1)
  await answers[2]
})

test('the end closes the connections that are idle', async () => {
  const database = new Database()
  const pool = poolOf(database)
  await use(pool)
  await pool.close()
  expect(database.opened.map(({ isClosed }) => isClosed)).toEqual([true])
})
