/** Which nodes of a database a node has seen end, and how. */
import { expect, test } from 'vitest'
import { deadAfterMs } from '../../../server/database/postgres/alive.ts'
import { EndedNodes, type SeenNode } from '../../../server/database/postgres/ended-nodes.ts'

const dayMs = 24 * 3_600_000

const seen = (name: string, silentMs = 0, id = `${name}-1`): SeenNode => ({
  ...{ id, name, silentMs, version: '0.1.0', leads: false, lagMs: 0 },
  ...{ startedAt: '2026-01-01T00:00:00.000Z', seenAt: '2026-01-01T00:01:00.000Z' },
  load: { percent: 0, waits: 0 },
})
const names = (ended: EndedNodes) => ended.list().map(({ name, left }) => `${name} ${left ? 'left' : 'lost'}`)

test('names a node that removed itself as left, and one that was silent as lost', () => {
  const ended = new EndedNodes('own-1')
  ended.note([seen('own'), seen('b'), seen('c'), seen('d', 3000)], 0)
  expect(names(ended)).toEqual([])
  ended.note([seen('own'), seen('c', deadAfterMs + 1), seen('d', 5000)], 2000)
  expect(names(ended)).toEqual(['b left', 'c lost'])
  // Another node removed d after its last look here.
  ended.note([seen('own')], 2000 + deadAfterMs - 5000 + 1)
  expect(names(ended)).toEqual(['b left', 'c lost', 'd lost'])
  expect(ended.list()[0]).toEqual({
    ...{ id: 'b-1', name: 'b', version: '0.1.0', left: true },
    seenAt: '2026-01-01T00:01:00.000Z',
  })
})

test('keeps how a node ended while its row is still there and after', () => {
  const ended = new EndedNodes('own-1')
  for (const atMs of [0, 1000, 2000]) ended.note([seen('own'), seen('b', deadAfterMs + 1 + atMs)], atMs)
  ended.note([seen('own')], 3000)
  expect(names(ended)).toEqual(['b lost'])
})

test('forgets a node whose name serves again, whether it is the same process or a new one', () => {
  for (const id of ['b-1', 'b-2']) {
    const ended = new EndedNodes('own-1')
    ended.note([seen('own'), seen('b')], 0)
    ended.note([seen('own')], 2000)
    expect(names(ended)).toEqual(['b left'])
    ended.note([seen('own'), seen('b', 0, id)], 4000)
    expect(names(ended)).toEqual([])
  }
})

test('forgets a node after a day, and never names itself', () => {
  const ended = new EndedNodes('own-1')
  ended.note([seen('own'), seen('b')], 0)
  ended.note([], 2000)
  expect(names(ended)).toEqual(['b left'])
  ended.note([seen('own')], 2000 + dayMs)
  expect(names(ended)).toEqual(['b left'])
  ended.note([seen('own')], 2001 + dayMs)
  expect(names(ended)).toEqual([])
})
