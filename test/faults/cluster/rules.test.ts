/** The rules for several nodes: a correct run passes, and each rule rejects a faulty one made for it. */
import { expect, test } from 'vitest'
import * as rules from '../lab/cluster/rules.ts'

type Draft = { -readonly [K in keyof rules.ClusterRun]: rules.ClusterRun[K][number][] }

const right = (): Draft => ({
  followed: [{ what: 'audit', seen: ['a', 'b', 'c'], stored: ['a', 'b', 'c'] }],
  probes: [
    { what: 'a send', confirmedMs: 10, readMs: 11, seen: true },
    { what: 'a read beside the send', confirmedMs: 20, readMs: 19, seen: false },
  ],
  replays: [
    { nonce: 'n1', outcomes: ['request_replayed', 'ok', 'request_replayed'] },
    // The answer of the node that accepted it was lost.
    { nonce: 'n2', outcomes: ['request_replayed', 'away', 'request_replayed'] },
  ],
  held: [{ what: 'claim of t1', holders: ['s1 1', 's1 1'] }],
  lanes: [{ lane: 'p', confirmedMs: [0, 1000, 9000, 9500], away: [[1500, 7000]] }],
  refusals: [{ what: 'a send', status: 503, hasRetryAfter: true }],
  watches: [{ what: 'probe', agoMs: 4000 }],
})

test('a correct run passes every rule', () => {
  expect(rules.checkCluster(right())).toEqual([])
})

const wrongs: readonly (readonly [string, rules.ClusterRule, (draft: Draft) => void])[] = [
  [
    'a follower misses a record',
    rules.followersSeeEachRecordOnce,
    ({ followed }) => followed.push({ what: 'tasks', seen: ['a', 'c'], stored: ['a', 'b', 'c'] }),
  ],
  [
    'a follower sees a record twice',
    rules.followersSeeEachRecordOnce,
    ({ followed }) => followed.push({ what: 'tasks', seen: ['a', 'a', 'b'], stored: ['a', 'b'] }),
  ],
  [
    'a follower sees its last record twice',
    rules.followersSeeEachRecordOnce,
    ({ followed }) => followed.push({ what: 'tasks', seen: ['a', 'b', 'b'], stored: ['a', 'b'] }),
  ],
  [
    'a follower sees records out of order',
    rules.followersSeeEachRecordOnce,
    ({ followed }) => followed.push({ what: 'tasks', seen: ['b', 'a'], stored: ['a', 'b'] }),
  ],
  [
    'a later read at another node misses an effect',
    rules.confirmedEffectsAreSeen,
    ({ probes }) => probes.push({ what: 'a task', confirmedMs: 5, readMs: 6, seen: false }),
  ],
  [
    'two nodes accept a nonce',
    rules.noncesAreAcceptedOnce,
    ({ replays }) => replays.push({ nonce: 'n3', outcomes: ['ok', 'request_replayed', 'ok'] }),
  ],
  [
    'every node refuses a new nonce',
    rules.noncesAreAcceptedOnce,
    ({ replays }) => replays.push({ nonce: 'n3', outcomes: ['request_replayed', 'request_replayed'] }),
  ],
  [
    'two nodes name two holders of a claim',
    rules.claimsAndSessionsHaveOneHolder,
    ({ held }) => held.push({ what: 'claim of t2', holders: ['s1 1', 's2 1'] }),
  ],
  [
    'a lane stands while the database answers',
    rules.lanesMakeProgress,
    ({ lanes }) => lanes.push({ lane: 'q', confirmedMs: [0, 3100], away: [[0, 50]] }),
  ],
  [
    'a node refuses a request for good',
    rules.refusalsNameATime,
    ({ refusals }) => refusals.push({ what: 'a send', status: 403, hasRetryAfter: true }),
  ],
  [
    'a node does not say when to retry',
    rules.refusalsNameATime,
    ({ refusals }) => refusals.push({ what: 'a send', status: 503, hasRetryAfter: false }),
  ],
  [
    'an observer has stopped early',
    rules.observersWorkToTheEnd,
    ({ watches }) => watches.push({ what: 'replay', agoMs: 6000 }),
  ],
]

test.each(wrongs)('a run in which %s is rejected by its rule only', (_name, rule, spoil) => {
  const draft = right()
  spoil(draft)
  const objecting = rules.checkCluster(draft).map((sentence) => sentence.split(':')[0])
  expect([...new Set(objecting)]).toEqual([rule.name])
})

test('every rule has a faulty run', () => {
  const names = new Set(wrongs.map(([, rule]) => rule.name))
  expect(rules.clusterRules.filter(({ name }) => !names.has(name))).toEqual([])
})
