/** Callers that need a connection open one after the other, and share the failures of an outage. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DatabaseUnreachableError } from '../../../server/database/postgres/connection.ts'
import { Opening } from '../../../server/database/postgres/opening.ts'

const place = { host: '127.0.0.1', port: 5432, database: 'bridge' }
const unreachable = () => new DatabaseUnreachableError(place as never, new Error('it is starting up'))

/** Connections that are opened, counted, and each open for as long as the test wants. */
function opened() {
  const idle: number[] = []
  const counts = { opens: 0, atOnce: 0, most: 0 }
  const open = async () => {
    counts.opens += 1
    counts.atOnce += 1
    counts.most = Math.max(counts.most, counts.atOnce)
    await sleep(20)
    counts.atOnce -= 1
    return counts.opens
  }
  return { idle, counts, open }
}

test('one caller opens at a time, and the others get what has become idle', async () => {
  const { idle, counts, open } = opened()
  const opening = new Opening(() => performance.now())
  const use = async () => {
    const connection = await opening.get(open, () => idle.pop())
    // Ends before the next one is open.
    await sleep(1)
    idle.push(connection)
  }
  await Promise.all(Array.from({ length: 8 }, use))
  expect(counts.most).toBe(1)
  expect(counts.opens).toBeLessThan(8)
})

test('no caller opens while a connection is idle', async () => {
  const { counts, open } = opened()
  const opening = new Opening(() => performance.now())
  expect(await opening.get(open, () => 7)).toBe(7)
  expect(counts.opens).toBe(0)
})

test('all callers of an outage share its tries, and go on as soon as it ends', async () => {
  const opening = new Opening(() => performance.now())
  let tries = 0
  const open = async () => {
    tries += 1
    if (tries <= 3) throw unreachable()
    return tries
  }
  const found = await Promise.all(Array.from({ length: 6 }, () => opening.get(open)))
  expect(found.toSorted()).toEqual([4, 5, 6, 7, 8, 9])
})

test('a later caller of an outage that lasts 1.5 s is refused at once, and each of its callers by then', async () => {
  let nowMs = 0
  const opening = new Opening(() => nowMs)
  const open = async (): Promise<never> => {
    nowMs += 1500
    throw unreachable()
  }
  const all = await Promise.allSettled(Array.from({ length: 4 }, () => opening.get(open)))
  expect(all.map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await expect(opening.get(open)).rejects.toThrow('it is starting up')
  expect(nowMs).toBe(3000)
})

test('a try that hangs keeps no other caller for longer than half a second', async () => {
  const opening = new Opening(() => performance.now())
  const { promise: never, resolve } = Promise.withResolvers<string>()
  const hanging = opening.get(() => never)
  expect(await opening.get(async () => 'other')).toBe('other')
  resolve('late')
  expect(await hanging).toBe('late')
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
