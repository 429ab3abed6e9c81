/**
 * The notice ledger: when a session gets a notice of a message, over interleavings of hooks, waiter and acks.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { touch } from '../../../cli/hooks/files.ts'
import { backoffMs, wakesPerHour } from '../../../cli/hooks/ledger.ts'
import { type Telling, tell } from '../../../cli/hooks/ledger-file.ts'
import { type Places, placesOf } from '../../../cli/hooks/places.ts'
import type { Unread } from '../../../cli/hooks/unread.ts'

let home: string
let places: Places
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'bridge-ledger-'))
  places = placesOf(home, 'ada')
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

const startMs = Date.parse('2026-11-22T14:00:00.000Z')
const unreadOf = (ids: readonly string[]): Unread => ({
  messages: ids.map((id) => ({ id, kind: 'agent', name: 'ben', type: 'note', createdAt: '', replyBy: null })),
  total: ids.length,
  isComplete: true,
  at: '',
})

interface Look {
  readonly ids: readonly string[]
  readonly seconds: number
  readonly when?: Telling['when']
  readonly print?: () => void
}
const at = (ms: number) => () => new Date(ms)
const look = async ({ ids, seconds, when = 'due', print = () => {} }: Look) =>
  (
    await tell(places, 'claude-1', {
      unread: unreadOf(ids),
      clock: at(startMs + seconds * 1000),
      when,
      print,
    })
  ).outcome

test('a message is told at once, then after 30, 60, 120, 240, 300 and 300 seconds', async () => {
  let seconds = 0
  for (const pause of [0, 30, 60, 120, 240, 300, 300]) {
    if (pause > 0) expect(await look({ ids: ['a'], seconds: seconds + pause - 1 })).toBe('not_due')
    seconds += pause
    expect(await look({ ids: ['a'], seconds })).toBe('told')
  }
})

test('while a notice is outstanding a new message waits; an ack, a read or the back-off ends that', async () => {
  expect(await look({ ids: ['a'], seconds: 0 })).toBe('told')
  expect(await look({ ids: ['a', 'b'], seconds: 10 })).toBe('not_due')
  expect(await look({ ids: ['b'], seconds: 11 })).toBe('told')
  expect(await look({ ids: ['b', 'c'], seconds: 12 })).toBe('not_due')
  touch(places.read, new Date(startMs + 13_000))
  expect(await look({ ids: ['b', 'c'], seconds: 14 })).toBe('told')
  expect(await look({ ids: ['b', 'c', 'd'], seconds: 44 })).toBe('told')
})

test('the ledger forgets acknowledged messages also while there are more than a hook reads', async () => {
  for (let n = 0; n < 30; n += 1) {
    const ids = [`id-${100 + n}`, `id-${101 + n}`]
    const unread = { ...unreadOf(ids), total: 5000, isComplete: false }
    await tell(places, 'claude-1', { unread, clock: at(startMs + n * 1e6), when: 'due', print: () => {} })
  }
  const { messages } = JSON.parse(readFileSync(places.ledger('claude-1'), 'utf8'))
  expect(Object.keys(messages)).toEqual(['id-129', 'id-130'])
  // A message after the last one that was read may still be unacknowledged.
  const unread = { ...unreadOf(['id-129']), total: 5000, isComplete: false }
  await tell(places, 'claude-1', { unread, clock: at(startMs + 4e7), when: 'due', print: () => {} })
  expect(Object.keys(JSON.parse(readFileSync(places.ledger('claude-1'), 'utf8')).messages)).toContain(
    'id-130',
  )
})

test('a clock that was set back hides no message', async () => {
  expect(await look({ ids: ['a'], seconds: 7200 })).toBe('told')
  expect(await look({ ids: ['a'], seconds: 0 })).toBe('told')
})

test('a session is woken 20 times an hour; hooks still tell it', async () => {
  for (let n = 0; n < wakesPerHour; n += 1)
    expect(await look({ ids: [`m${n}`], seconds: n, when: 'wake' })).toBe('told')
  expect(await look({ ids: ['next'], seconds: 60, when: 'wake' })).toBe('too_many_wakes')
  expect(await look({ ids: ['next'], seconds: 61 })).toBe('told')
  expect(await look({ ids: ['later'], seconds: 3600, when: 'wake' })).toBe('told')
})

test('a notice that was not printed to its end is due again at once, and counts as a wake', async () => {
  const print = () => {
    throw new Error('killed')
  }
  await expect(look({ ids: ['a'], seconds: 0, when: 'wake', print })).rejects.toThrow('killed')
  expect(await look({ ids: ['a'], seconds: 0, when: 'wake' })).toBe('told')
  expect(JSON.parse(readFileSync(places.ledger('claude-1'), 'utf8')).wakes).toHaveLength(2)
})

test('a damaged ledger repeats a notice; one that cannot be written prints none', async () => {
  expect(await look({ ids: ['a'], seconds: 0 })).toBe('told')
  for (const damaged of ['', '{', '[]', '{"messages":{"a":1},"last":{},"wakes":{}}']) {
    writeFileSync(places.ledger('claude-1'), damaged)
    expect(await look({ ids: ['a'], seconds: 1 })).toBe('told')
  }
  let printed = 0
  const elsewhere = { ...places, ledger: () => '/dev/null/no-ledger.json' }
  const print = () => {
    printed += 1
  }
  const telling = { unread: unreadOf(['b']), clock: at(startMs), when: 'due', print } as const
  await expect(tell(elsewhere, 'claude-1', telling)).rejects.toMatchObject({ code: 'ENOTDIR' })
  expect(printed).toBe(0)
})

test('two hooks at the same time tell the session once', async () => {
  const outcomes = await Promise.all([1, 2, 3].map(() => look({ ids: ['a'], seconds: 0 })))
  expect(outcomes.sort()).toEqual(['not_due', 'not_due', 'told'])
})

test('a start that waits for another hook counts as later than that hook', async () => {
  let nowMs = startMs
  const clock = () => new Date(nowMs)
  let start: ReturnType<typeof tell> | undefined
  const unread = unreadOf(['a'])
  const print = () => {
    start = tell(places, 'claude-1', { unread, clock, when: 'always', print: () => {} })
    // The start waits for the lock from here on.
    nowMs = startMs + 20
  }
  await tell(places, 'claude-1', { unread, clock: at(startMs + 10), when: 'due', print })
  expect((await start)?.outcome).toBe('not_due')
})

test('the start of a session tells of all, unless a hook beside it has just told the same', async () => {
  const start = (seconds: number, ...ids: string[]) => look({ ids, seconds, when: 'always' })
  expect(await look({ ids: ['a'], seconds: 0 })).toBe('told')
  expect(await start(0, 'a')).toBe('not_due')
  expect(await start(1, 'a', 'b')).toBe('told')
  expect(await start(5, 'a', 'b')).toBe('not_due')
  expect(await start(6, 'a', 'b')).toBe('told')
})

/** A step of the world: time passes, then something happens. */
const steps = fc.array(
  fc.record({
    seconds: fc.constantFrom(0, 1, 5, 29, 30, 31, 90, 310),
    act: fc.constantFrom('arrive', 'arrive', 'ack', 'read', 'hook', 'hook', 'wake', 'killed'),
    pick: fc.nat(5),
  }),
  { minLength: 10, maxLength: 30 },
)

test('over 200 interleavings each message is told at once, never within its back-off, and again after it', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.uuid(), async (world, session) => {
      const noticed = new Map<string, { times: number; at: number }>()
      let last: { ids: string[]; at: number } | undefined
      let readAt = -1
      let now = startMs
      let arrived = 0
      const nextId = () => {
        arrived += 1
        return arrived
      }
      const inbox: string[] = []
      touch(places.read, new Date(0))
      for (const { seconds, act, pick } of world) {
        now += seconds * 1000
        if (act === 'arrive') inbox.push(`m${nextId()}`)
        else if (act === 'ack') inbox.splice(pick % (inbox.length || 1), 1)
        else if (act === 'read') {
          readAt = now
          touch(places.read, new Date(now))
        } else {
          const backoff = (id: string) => backoffMs(noticed.get(id)?.times ?? 1)
          const isOutstanding =
            last !== undefined &&
            readAt < last.at &&
            last.ids.every((id) => inbox.includes(id)) &&
            now - last.at < Math.min(...last.ids.map(backoff))
          const due = inbox.filter((id) => {
            const before = noticed.get(id)
            return before === undefined || now - before.at >= backoffMs(before.times)
          })
          const expected = isOutstanding || due.length === 0 ? 'not_due' : 'told'
          const print = () => {
            if (act === 'killed') throw new Error('killed')
          }
          const when = act === 'wake' ? 'wake' : 'due'
          const telling = { unread: unreadOf(inbox), clock: at(now), when, print } as const
          const outcome = await tell(places, session, telling).then(
            (told) => told.outcome,
            () => 'killed',
          )
          if (outcome === 'too_many_wakes') continue
          expect(outcome).toBe(expected === 'told' && act === 'killed' ? 'killed' : expected)
          if (outcome !== 'told') continue
          for (const id of due) noticed.set(id, { times: (noticed.get(id)?.times ?? 0) + 1, at: now })
          last = { ids: due, at: now }
        }
      }
    }),
    { numRuns: 200 },
  )
})
