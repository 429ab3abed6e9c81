/** Callers that need a connection wait for each other's tries, and share the failures of an outage. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DatabaseUnreachableError } from '../../../server/database/postgres/connection.ts'
import { Opening } from '../../../server/database/postgres/opening.ts'

const place = { host: '127.0.0.1', port: 5432, database: 'bridge' }
const unreachable = () => new DatabaseUnreachableError(place as never, new Error('it is starting up'))
const long = 60_000
/** No caller goes on before the tries of others have ended, and no failure holds for long. */
const times = { othersWaitMs: long, holdsMs: 5 }

/** A database that can be away, and what was tried there. */
class Database {
  isAway = false
  tries = 0
  mostAtOnce = 0
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
}

const several = <T>(count: number, act: () => Promise<T>) => Promise.all(Array.from({ length: count }, act))

test('one caller opens at a time, and each gets a connection of its own', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), times)
  expect(new Set(await several(8, () => opening.get(database.open))).size).toBe(8)
  expect(database.mostAtOnce).toBe(1)
  expect(database.tries).toBe(8)
})

test('callers of an outage share its tries, and each goes on when it ends', async () => {
  const database = new Database()
  database.isAway = true
  const opening = new Opening(() => 0, times)
  const answers = several(6, () => opening.get(database.open))
  while (database.tries < 3) await sleep(5)
  database.isAway = false
  expect(new Set(await answers).size).toBe(6)
  expect(database.mostAtOnce).toBe(1)
  expect(database.tries).toBeLessThan(3 + 2 * 6)
})

test('a caller of an outage is refused by the last try as long as it holds, and tries itself later', async () => {
  const database = new Database()
  database.isAway = true
  const opening = new Opening(() => performance.now(), { othersWaitMs: long, holdsMs: 300 })
  const refused = () => expect(opening.once(database.open)).rejects.toThrow('it is starting up')
  expect(opening.isAway).toBe(false)
  await refused()
  expect(opening.isAway).toBe(true)
  database.isAway = false
  await refused()
  expect(database.tries).toBe(1)
  await expect.poll(() => opening.once(database.open).catch(() => 'refused')).toBe(2)
  expect(opening.isAway).toBe(false)
})

test('a caller that asks once shares a try of others, and their success is not its own', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), times)
  database.isAway = true
  const refused = several(3, () => opening.once(database.open).catch((error: Error) => error.message))
  expect(new Set(await refused)).toEqual(new Set([unreachable().message]))
  expect(database.tries).toBe(1)
  await sleep(50)
  database.isAway = false
  expect(await several(3, () => opening.once(database.open))).toEqual([2, 3, 4])
})

test('a caller is refused when the outage has lasted 1.5 s, and so is the next one after one try', async () => {
  const database = new Database()
  database.isAway = true
  let nowMs = 0
  const opening = new Opening(() => nowMs, times)
  const answers = Promise.allSettled(Array.from({ length: 4 }, () => opening.get(database.open)))
  while (database.tries < 2) await sleep(5)
  nowMs = 1500
  expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await sleep(50)
  const before = database.tries
  await expect(opening.get(database.open)).rejects.toThrow('it is starting up')
  expect(database.tries).toBe(before + 1)
})

test('a connection that another caller opens ends an outage: the next one begins anew', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs, times)
  database.isAway = true
  const first = opening.get(database.open)
  while (database.tries < 2) await sleep(5)
  database.isAway = false
  await first
  database.isAway = true
  nowMs = 1_000_000
  const second = opening.get(database.open)
  const before = database.tries
  while (database.tries < before + 2) await sleep(5)
  database.isAway = false
  expect(await second).toBeGreaterThan(before)
})

test('an open connection that is used ends an outage, too', async () => {
  const database = new Database()
  let nowMs = 0
  const opening = new Opening(() => nowMs, times)
  database.isAway = true
  await expect(opening.once(database.open)).rejects.toThrow('it is starting up')
  opening.reached()
  expect(opening.isAway).toBe(false)
  nowMs = 1_000_000
  await sleep(50)
  const answer = opening.get(database.open)
  while (database.tries < 3) await sleep(5)
  database.isAway = false
  expect(await answer).toBeGreaterThanOrEqual(3)
})

test('after an outage the node connects for itself later than its requests', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), { ...times, requestsFirstMs: 300 })
  database.isAway = true
  await expect(opening.once(database.open)).rejects.toThrow('it is starting up')
  database.isAway = false
  await opening.get(database.open)
  let isOpened = false
  const own = opening.onceAfterRequests(database.open).then(() => {
    isOpened = true
  })
  await opening.get(database.open)
  await opening.once(database.open)
  expect(isOpened).toBe(false)
  await own
})

test('a node that has let requests connect first still tries one at a time', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), { holdsMs: 5, othersWaitMs: 60, requestsFirstMs: 100 })
  database.isAway = true
  await expect(opening.once(database.open)).rejects.toThrow('it is starting up')
  database.isAway = false
  await sleep(20)
  // The tries of the node wait for this one, and then until requests have had their time.
  const requests = opening.get(database.open)
  await several(2, () => opening.onceAfterRequests(database.open))
  await requests
  expect(database.mostAtOnce).toBe(1)
})

test('a try of the node for itself that waits for another one also lets requests connect first', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), { ...times, requestsFirstMs: 300 })
  database.isAway = true
  await expect(opening.once(database.open)).rejects.toThrow('it is starting up')
  await sleep(50)
  database.isAway = false
  const requests = opening.get(database.open)
  const own = opening.onceAfterRequests(database.open)
  await requests
  expect(await Promise.race([own, sleep(100, 'waits')])).toBe('waits')
  expect(await opening.get(database.open)).toBe(3)
  expect(await own).toBe(4)
})

test('without an outage the node waits for nobody, and during one it tries as others do', async () => {
  const database = new Database()
  const opening = new Opening(() => performance.now(), { ...times, requestsFirstMs: long })
  await opening.get(database.open)
  expect(await opening.onceAfterRequests(database.open)).toBe(2)
  database.isAway = true
  await expect(opening.onceAfterRequests(database.open)).rejects.toThrow('it is starting up')
  database.isAway = false
  await sleep(50)
  expect(await opening.onceAfterRequests(database.open)).toBe(4)
})

test('a try that fails after a later one succeeded begins no outage', async () => {
  let nowMs = 0
  const opening = new Opening(() => nowMs, { othersWaitMs: 10, holdsMs: 5 })
  const { promise: old, reject } = Promise.withResolvers<string>()
  const tries = [old, Promise.resolve('again')]
  const slow = opening.get(() => tries.shift() as Promise<string>)
  nowMs = 1000
  expect(await opening.get(async () => 'other')).toBe('other')
  nowMs = 5000
  reject(unreachable())
  expect(await slow).toBe('again')
  expect(opening.isAway).toBe(false)
})

test('a try that hangs keeps other callers no longer than they wait for others', async () => {
  const opening = new Opening(() => performance.now(), { othersWaitMs: 50 })
  const { promise: never, resolve } = Promise.withResolvers<string>()
  const hanging = opening.get(() => never)
  const others = await several(3, () => opening.get(async () => 'other'))
  expect(others).toEqual(['other', 'other', 'other'])
  expect(await opening.once(async () => 'once')).toBe('once')
  resolve('late')
  expect(await hanging).toBe('late')
})

test('the failure of an old try is that of its caller alone', async () => {
  let nowMs = 0
  const opening = new Opening(() => nowMs, times)
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
