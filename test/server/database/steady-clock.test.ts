/**
 * The clock of lifetimes: the events that move it, those that do not, and its readings in the store. Contract
 * §5 "Lifetimes".
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createIds, type Ids } from '../../../server/database/ids.ts'
import { migrations } from '../../../server/database/migrations/index.ts'
import { migrate } from '../../../server/database/sqlite/migrate.ts'
import { openDatabase } from '../../../server/database/sqlite/open.ts'
import { openSteadyClock } from '../../../server/database/sqlite/steady-clock.ts'
import { add, openStore, start, temporaryFolder } from './store.ts'

const hour = 3_600_000
const iso = (afterMs: number) => new Date(start.getTime() + afterMs).toISOString()

interface Row {
  readonly id: string
  readonly at: string
}

/** Simulates successive processes on the same store; the test controls both clocks. */
function processes() {
  const path = join(temporaryFolder(), 'bridge.db')
  const time = { wall: start.getTime(), elapsed: 0 }
  let ids: Ids | undefined
  return {
    path,
    time,
    pass(ms: number) {
      time.wall += ms
      time.elapsed += ms
    },
    open(writes = true) {
      const database = openDatabase(path)
      migrate(database, migrations, () => start)
      onTestFinished(() => void database.close())
      const elapsedAtStart = time.elapsed
      ids ??= createIds(undefined, randomBytes)
      const { next } = ids
      const steady = openSteadyClock({
        database,
        ids,
        clock: () => new Date(time.wall),
        elapsedMs: () => time.elapsed - elapsedAtStart,
        writes,
      })
      const stored = () =>
        database.prepare<[], object>('SELECT wall_ms, steady_ms FROM steady_clock').get() ?? {}
      /** The row of a unit that starts now. */
      const row = (): Row => {
        steady.begin()
        return { id: next(new Date(time.wall)), at: new Date(time.wall).toISOString() }
      }
      const storedAt = ({ id, at }: Row) => Date.parse(steady.steadyOf(id, at)) - start.getTime()
      return {
        database,
        steady,
        stored,
        row,
        storedAt,
        now: () => steady.now().getTime() - start.getTime(),
      }
    },
  }
}

test.each([hour, -hour, 24 * hour, -24 * hour])(
  'setting the clock by %i ms changes the shown time only, not the steady time',
  (step) => {
    const { time, pass, open } = processes()
    const { steady, now } = open()
    pass(1000)
    const end = iso(5000)
    expect([now(), steady.wall(end)]).toEqual([1000, end])
    time.wall += step
    pass(1000)
    expect([now(), steady.wall(end)]).toEqual([2000, iso(5000 + step)])
    time.wall -= step
    expect([now(), steady.wall(end)]).toEqual([2000, end])
  },
)

test.each([hour, -hour])('rows before and after the clock is set by %i ms keep their times', (step) => {
  const { time, pass, open } = processes()
  const { steady, row, storedAt } = open()
  const rows = [row()]
  const take = () => {
    pass(1000)
    rows.push(row())
  }
  take()
  time.wall += step
  take()
  take()
  time.wall -= step
  take()
  expect(rows.map(storedAt)).toEqual([0, 1000, 2000, 3000, 4000])
  // Narrows the rows down as a query for recent rows does.
  const laterThan = (ms: number) => {
    const from = steady.idBefore(iso(ms))
    return rows.filter((each) => each.id > from && storedAt(each) > ms).map(storedAt)
  }
  expect([0, 1500, 2000, 2999, 4000].map((ms) => laterThan(ms).length)).toEqual([4, 3, 2, 2, 0])
})

test('a row of an earlier process is dated by the last stored reading, and never later than the start', () => {
  const { time, pass, open } = processes()
  const first = open()
  time.wall += 24 * hour
  const wrong = first.row()
  pass(1000)
  time.wall -= 24 * hour
  const right = first.row()
  expect([wrong, right].map(first.storedAt)).toEqual([0, 1000])
  first.steady.noteLast()
  time.wall -= hour
  pass(5000)
  const second = open()
  pass(1000)
  const young = second.row()
  // The store has no record that the clock was a day ahead, so the start time limits that row.
  expect([wrong, right, young].map(second.storedAt)).toEqual([1000, 1000, 2000])
})

test('the node tracks a clock that is set often while its rows are young', () => {
  const { time, pass, open } = processes()
  const { row, storedAt } = open()
  const rows = []
  for (let n = 0; n < 100; n += 1) {
    time.wall += n % 2 === 0 ? hour : -hour
    pass(1000)
    rows.push(row())
  }
  const times = rows.map(storedAt)
  expect(times.slice(-30)).toEqual(Array.from({ length: 30 }, (_, n) => 71_000 + n * 1000))
  // Older rows stay older.
  expect(Math.max(...times.slice(0, 70))).toBeLessThanOrEqual(71_000)
})

test('a change below one second follows the wall clock, and never backwards', () => {
  const { time, pass, open } = processes()
  const { steady, now } = open()
  pass(10_000)
  time.wall += 900
  expect(now()).toBe(10_900)
  time.wall -= 1800
  expect([now(), steady.isSet()]).toEqual([10_900, true])
  steady.note()
  expect(steady.isSet()).toBe(false)
  // The steps add up to more than a second.
  time.wall -= 900
  expect([now(), steady.isSet()]).toEqual([10_900, true])
  pass(1000)
  expect(now()).toBe(11_000)
})

test('across a restart the wall clock gives the time that passed; one that was set back counts as no time', () => {
  const { time, pass, open } = processes()
  const first = open()
  pass(1000)
  time.wall += hour
  first.now()
  first.steady.noteLast()
  time.wall += 5000
  const second = open()
  expect([second.now(), second.steady.wall(iso(0))]).toEqual([6000, iso(hour)])
  second.steady.noteLast()
  time.wall -= 24 * hour
  const third = open()
  expect([third.now(), third.steady.wall(iso(0))]).toEqual([6000, iso(hour - 24 * hour)])
  pass(1000)
  expect(third.now()).toBe(7000)
  third.steady.noteLast()
  time.wall += 24 * hour
  expect(open().now()).toBe(7000 + 24 * hour)
})

test('a reading is stored with a write: after a second, immediately if the clock was set, and alone after a minute', () => {
  const { time, pass, open } = processes()
  const { database, steady, stored } = open()
  const write = () => database.exec("REPLACE INTO maintenance VALUES (1, '')")
  const at = (steady_ms: number, ahead = 0) => ({
    steady_ms: start.getTime() + steady_ms,
    wall_ms: start.getTime() + steady_ms + ahead,
  })
  steady.note()
  expect(stored()).toEqual(at(0))
  pass(999)
  write()
  steady.note()
  expect(stored()).toEqual(at(0))
  pass(1)
  steady.note()
  expect(stored()).toEqual(at(1000))
  pass(59_999)
  steady.note()
  expect(stored()).toEqual(at(1000))
  pass(1)
  steady.note()
  expect(stored()).toEqual(at(61_000))
  time.wall += hour
  steady.note()
  expect(stored()).toEqual(at(61_000, hour))
})

test("a command beside the server uses the server's reading and stores none", () => {
  const { time, pass, open } = processes()
  const server = open()
  time.wall += hour
  server.steady.note()
  pass(2000)
  const command = open(false)
  expect(command.now()).toBe(2000)
  pass(90_000)
  command.database.exec("REPLACE INTO maintenance VALUES (1, '')")
  command.steady.note()
  command.steady.noteLast()
  expect(command.stored()).toMatchObject({ steady_ms: start.getTime() })
})

test('a commit stores the reading too, and a stop stores the last one', async () => {
  const store = openStore()
  const stored = () => store.bystander.prepare('SELECT steady_ms FROM steady_clock').pluck().get()
  const at = (ms: number) => start.getTime() + ms
  const pass = (ms: number) => {
    store.time.now = new Date(store.time.now.getTime() + ms)
    store.time.monotonicMs += ms
  }
  await store.writer.write((tx) => add(tx, 'ada'))
  expect(stored()).toBe(at(0))
  pass(1500)
  // This unit wrote nothing.
  await store.writer.write(async () => {})
  expect(stored()).toBe(at(0))
  await expect(
    store.writer.write(async (tx) => {
      await add(tx, 'ben')
      throw new Error('refused')
    }),
  ).rejects.toThrow('refused')
  const [now, end] = await store.writer.write(async (tx) => {
    await add(tx, 'cleo')
    return [tx.steadyIso, tx.endIn(60)]
  })
  expect([stored(), now, end]).toEqual([at(1500), iso(1500), iso(61_500)])
  pass(700)
  const { path } = store
  await store.close()
  expect(openStore({ path }).bystander.prepare('SELECT steady_ms FROM steady_clock').pluck().get()).toBe(
    at(2200),
  )
})
