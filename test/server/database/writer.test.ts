import { readFileSync } from 'node:fs'
import { setImmediate as immediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import { add, openStore, outcomes } from './store.ts'

/**
 * Counts the commits in the WAL: a commit frame holds the size of the database after it. Frames of an earlier
 * WAL generation have another salt.
 */
function commitsIn(wal: Buffer): number {
  const pageSize = wal.readUInt32BE(8)
  const salt = wal.subarray(16, 24)
  let commits = 0
  for (let at = 32; at + 24 + pageSize <= wal.length; at += 24 + pageSize) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break
    if (wal.readUInt32BE(at + 4) > 0) commits += 1
  }
  return commits
}

test('requests that wait at the same time share one commit', async () => {
  const { writer, path, names } = openStore()
  const before = commitsIn(readFileSync(`${path}-wal`))
  const people = Array.from({ length: 40 }, (_, index) => `person ${index + 10}`)
  await Promise.all(people.map((name) => writer.write((tx) => add(tx, name))))
  expect(names()).toEqual(people)
  expect(commitsIn(readFileSync(`${path}-wal`)) - before).toBe(1)
  expect(writer.stats()).toEqual({ groups: 1, requests: 40, largestGroup: 40, failedGroups: 0 })
})

test('a group accepts requests of the next turns, for at most the duration of the last group', async () => {
  let nowMs = 0
  const { writer } = openStore({ monotonicMs: () => nowMs })
  const groupsOf = async (turns: number) => {
    const before = writer.stats().groups
    const writes = [writer.write(async () => undefined)]
    for (let turn = 0; turn < turns; turn += 1) {
      await immediate()
      writes.push(writer.write(async () => undefined))
    }
    await Promise.all(writes)
    return writer.stats().groups - before
  }
  // The last group took no time, so this one waits for no further request.
  expect(await groupsOf(3)).toBeGreaterThan(1)
  await writer.write(async () => {
    nowMs += 4
  })
  expect(await groupsOf(3)).toBe(1)
})

test('the size of a group is limited, and other work runs between two groups', async () => {
  const { writer } = openStore({ maxGroup: 10 })
  const finished: number[] = []
  let between: number | undefined
  const writes = Array.from({ length: 25 }, (_, index) =>
    writer
      .write((tx) => add(tx, `person ${index}`))
      .then(() => {
        finished.push(index)
        if (finished.length === 1) setImmediate(() => (between = finished.length))
      }),
  )
  await Promise.all(writes)
  expect(writer.stats()).toMatchObject({ groups: 3, largestGroup: 10 })
  expect(finished).toEqual(Array.from({ length: 25 }, (_, index) => index))
  expect(between).toBeLessThan(25)
})

test('a unit that throws is rolled back, and the other units of the group keep their rows', async () => {
  const { writer, names } = openStore()
  const told = await outcomes([
    writer.write((tx) => add(tx, 'ada')),
    writer.write(async (tx) => {
      await add(tx, 'ben')
      throw new ApiError('state_conflict')
    }),
    writer.write((tx) => add(tx, 'ada')),
    writer.write(() => {
      throw new ApiError('not_found')
    }),
    writer.write((tx) => add(tx, 'cleo')),
  ])
  expect(told).toEqual(['done', 'state_conflict', 'SQLITE_CONSTRAINT_UNIQUE', 'not_found', 'done'])
  expect(names()).toEqual(['ada', 'cleo'])
  expect(writer.stats()).toMatchObject({ groups: 1, requests: 5, failedGroups: 0 })
})

test('no unit is answered or refused before the commit of its group', async () => {
  const { writer, names } = openStore()
  const seen: unknown[] = []
  const refused = writer.write(async () => {
    throw new ApiError('not_found')
  })
  const accepted = writer.write((tx) => add(tx, 'ada'))
  const last = writer.write((tx) => add(tx, 'ben'))
  await Promise.all([
    refused.catch(() => seen.push(names())),
    accepted.then(() => seen.push(names())),
    last.then(() => seen.push(names())),
  ])
  expect(seen).toEqual([
    ['ada', 'ben'],
    ['ada', 'ben'],
    ['ada', 'ben'],
  ])
})

test('a later unit of the group sees the writes of earlier units, except those rolled back', async () => {
  const { writer } = openStore()
  const seen = await Promise.allSettled([
    writer.write((tx) => add(tx, 'ada')),
    writer.write(async (tx) => {
      await add(tx, 'ben')
      throw new ApiError('not_found')
    }),
    writer.write((tx) => tx.db.selectFrom('owner_users').select('name').execute()),
  ])
  expect(seen[2]).toEqual({ status: 'fulfilled', value: [{ name: 'ada' }] })
})

test('effects run after the commit, in order, before the answer', async () => {
  const { writer, names } = openStore()
  const told: unknown[] = []
  await writer.write(async (tx) => {
    await add(tx, 'ada')
    tx.afterCommit(() => told.push(['first', names()]))
    tx.afterCommit(() => told.push('second'))
    told.push('unit')
  })
  expect(told).toEqual(['unit', ['first', ['ada']], 'second'])
})

test('effects of a unit that was rolled back never run', async () => {
  const { writer } = openStore()
  let woken = false
  const told = await outcomes([
    writer.write(async (tx) => {
      tx.afterCommit(() => {
        woken = true
      })
      throw new ApiError('not_found')
    }),
    writer.write((tx) => add(tx, 'ada')),
  ])
  expect(told).toEqual(['not_found', 'done'])
  expect(woken).toBe(false)
})

test('an effect that throws is reported and affects no other effect and no answer', async () => {
  const { writer, effectErrors } = openStore()
  const woken: string[] = []
  const failure = new Error('nobody home')
  const told = await outcomes([
    writer.write(async (tx) => {
      tx.afterCommit(() => {
        throw failure
      })
      tx.afterCommit(() => woken.push('ada'))
    }),
    writer.write(async (tx) => tx.afterCommit(() => woken.push('ben'))),
  ])
  expect(told).toEqual(['done', 'done'])
  expect(woken).toEqual(['ada', 'ben'])
  expect(effectErrors).toEqual([failure])
})

test('a unit has a single time, and ids increase in commit order', async () => {
  const { writer, time } = openStore()
  const [first, second] = await Promise.all([
    writer.write(async (tx) => {
      const now = tx.now
      time.now = new Date(time.now.getTime() + 1000)
      await add(tx, 'ada')
      expect(tx.now).toBe(now)
      expect(tx.nowIso).toBe(now.toISOString())
      return { id: tx.id(), now }
    }),
    writer.write(async (tx) => ({ id: tx.id(), now: tx.now })),
  ])
  expect(second.now.getTime() - first.now.getTime()).toBe(1000)
  expect(second.id > first.id).toBe(true)
})

test('closing finishes accepted units and refuses later ones', async () => {
  const { writer, names } = openStore()
  const accepted = writer.write((tx) => add(tx, 'ada'))
  const closed = writer.close()
  const late = writer.write((tx) => add(tx, 'ben'))
  expect(await outcomes([accepted, closed, late])).toEqual(['done', 'done', 'unavailable'])
  expect(writer.state()).toBe('closed')
  expect(names()).toEqual(['ada'])
})
