/** Callers that need a connection wait for each other's tries, and share the failures of an outage. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DatabaseUnreachableError } from '../../../server/database/postgres/connection.ts'
import { Opening } from '../../../server/database/postgres/opening.ts'

const place = { host: '127.0.0.1', port: 5432, database: 'bridge' }
const unreachable = () => new DatabaseUnreachableError(place as never, new Error('it is starting up'))
const long = 60_000

/** A database that can be away, and what was tried there. */
class Database {
  isAway = false
  tries = 0
  mostAtOnce = 0
  readonly idle: number[] = []
  #atOnce = 0

  readonly open = async (): Promise<number> => {
    this.tries += 1
    const number = this.tries
    this.#atOnce += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce)
    await sleep(20)
    this.#atOnce -= 1
    if (this.isAway) throw unreachable()
    return number
  }
  readonly takeIdle = () => this.idle.pop()
}

const several = <T>(count: number, act: () => Promise<T>) => Promise.all(Array.from({ length: count }, act))

test('one caller opens at a time, and the others get what has become idle', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), long)
  await several(8, async () => {
    const connection = await opening.get(database.open, database.takeIdle)
    // Ends before the next one is open.
    await sleep(1)
    database.idle.push(connection)
  })
  expect(database.mostAtOnce).toBe(1)
  expect(database.tries).toBeLessThan(8)
})

test('no caller opens while a connection is idle', async () => {
  const database = new Database()
  database.idle.push(7)
  const opening = new Opening(() => performance.now())
  expect(await opening.get(database.open, database.takeIdle)).toBe(7)
  expect(database.tries).toBe(0)
})

test('callers of an outage share its tries, and each goes on when it ends', async () => {
  const database = new Database()
  database.isAway = true
  const opening = new Opening(() => 0, long)
  const answers = several(6, () => opening.get(database.open))
  while (database.tries < 3) await sleep(5)
  database.isAway = false
  expect(new Set(await answers).size).toBe(6)
  expect(database.mostAtOnce).toBe(1)
  expect(database.tries).toBeLessThan(3 + 2 * 6)
})

test('a caller is refused when the outage has lasted 1.5 s, and so is the next one after one try', async () => {
  const database = new Database()
  database.isAway = true
  let nowMs = 0
  const opening = new Opening(() => nowMs, long)
  const answers = Promise.allSettled(Array.from({ length: 4 }, () => opening.get(database.open)))
  while (database.tries < 2) await sleep(5)
  nowMs = 1500
  expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  const before = database.tries
  await expect(opening.get(database.open)).rejects.toThrow('it is starting up')
  expect(database.tries).toBe(before + 1)
})

test('an idle connection ends an outage: the next one begins anew', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs)
  database.isAway = true
  const first = opening.get(database.open, database.takeIdle)
  while (database.tries < 2) await sleep(5)
  database.idle.push(7)
  expect(await first).toBe(7)
  nowMs = 1_000_000
  const second = opening.get(database.open)
  const before = database.tries
  while (database.tries < before + 2) await sleep(5)
  database.isAway = false
  expect(await second).toBeGreaterThan(before)
})

test('a try that fails after a later one succeeded begins no outage', async () => {
  let nowMs = 0
  const opening = new Opening(() => nowMs, 10)
  const { promise: old, reject } = Promise.withResolvers<string>()
  const tries = [old, Promise.resolve('again')]
  const slow = opening.get(() => tries.shift() as Promise<string>)
  nowMs = 1000
  expect(await opening.get(async () => 'other')).toBe('other')
  nowMs = 5000
  reject(unreachable())
  expect(await slow).toBe('again')
})

test('a try that hangs keeps other callers no longer than they wait for others in all', async () => {
  const opening = new Opening(() => performance.now(), 50)
  const { promise: never, resolve } = Promise.withResolvers<string>()
  const hanging = opening.get(() => never)
  const others = await several(3, () => opening.get(async () => 'other'))
  expect(others).toEqual(['other', 'other', 'other'])
  resolve('late')
  expect(await hanging).toBe('late')
})

test('the failure of an old try is that of its caller alone', async () => {
  let nowMs = 0
  const opening = new Opening(() => nowMs, long)
  const { promise: old, reject } = Promise.withResolvers<string>()
  const hanging = expect(opening.get(() => old)).rejects.toThrow('it is starting up')
  const later = opening.get(async () => 'opened')
  nowMs = 2 * long
  reject(unreachable())
  await hanging
  expect(await later).toBe('opened')
})

test('another fault than an outage is that of its caller alone', async () => {
  const opening = new Opening(() => performance.now())
  const refused = opening.get(async () => {
    throw new Error('it has forgotten writes')
  })
  const other = opening.get(async () => 'opened')
  await expect(refused).rejects.toThrow('it has forgotten writes')
  expect(await other).toBe('opened')
})
