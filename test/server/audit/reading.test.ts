/** Reads of the audit log: filters, pages, order, and long-polls for new records. Contract §10. */

import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { auditKinds } from '../../../sdk/contract/audit-kinds.ts'
import type { AuditList, AuditQuery, AuditRecord, EventList } from '../../../sdk/contract/owner/audit.ts'
import { recordsQuery } from '../../../server/audit-reading/queries.ts'
import { compileOnly } from '../../../server/database/sqlite/dialect.ts'
import { onSqlite } from '../../support/one-store.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'

let world: World
let pair: Pair

beforeAll(async () => {
  world = await startWorld()
  pair = await world.pair()
})
afterAll(() => world.close())

const list = async (query = '', id = pair.project.id) =>
  world.owner.ok<AuditList>({ target: `/api/admin/projects/${id}/audit${query}` })

const wait = (query: string, id = pair.project.id) =>
  world.owner.ok<EventList>({ target: `/api/admin/projects/${id}/events${query}` })

const kinds = (records: readonly AuditRecord[]) => records.map(({ kind }) => kind)

test('the pages contain every record exactly once, in both orders', async () => {
  const all = (await list('?limit=100')).audit
  expect(kinds(all).slice(0, 2)).toEqual(['project.created', 'agent.created'])
  for (const order of ['oldest_first', 'newest_first']) {
    const read: AuditRecord[] = []
    let after = ''
    for (;;) {
      const page = await list(`?order=${order}&limit=3${after}`)
      read.push(...page.audit)
      if (!page.has_more) break
      after = `&after=${page.next_after}`
    }
    expect(read).toEqual(order === 'oldest_first' ? all : all.toReversed())
  }
})

test('an empty page returns the cursor of the request', async () => {
  const last = (await list('?limit=100')).audit.at(-1)?.id
  expect(await list(`?after=${last}`)).toEqual({ audit: [], has_more: false, next_after: last })
})

test('a filter returns only matching records, and several filters are combined with AND', async () => {
  const { ada } = pair
  const all = (await list('?limit=100')).audit
  const only = async (query: string, fits: (record: AuditRecord) => boolean) => {
    const { audit } = await list(`?limit=100&${query}`)
    expect(audit).toEqual(all.filter(fits))
    return audit.length
  }
  expect(await only('kind=session.started', ({ kind }) => kind === 'session.started')).toBe(2)
  expect(await only(`actor_id=${ada.id}`, ({ actor }) => actor.id === ada.id)).toBeGreaterThan(1)
  expect(await only(`subject_id=${ada.id}`, ({ subject }) => subject.id === ada.id)).toBe(1)
  const both = `actor_id=${ada.id}&kind=session.started`
  expect(await only(both, ({ actor, kind }) => actor.id === ada.id && kind === 'session.started')).toBe(1)
  await ada.send(pair.conversation, pair.ben.id, 'one for the common kind')
  const { audit } = await list(`?kind=message.sent&actor_id=${ada.id}`)
  expect(kinds(audit)).toEqual(['message.sent'])
  expect((await list(`?kind=message.sent&subject_id=${audit[0]?.subject.id}`)).audit).toEqual(audit)
})

test('since and until restrict the time range', async () => {
  const id = await world.project()
  const [before] = (await list('', id)).audit
  world.bridge.clock.advance(60)
  await world.setProject(id, 'paused')
  const { audit } = await list('', id)
  const then = audit.at(-1)?.at ?? ''
  expect((await list(`?since=${then}`, id)).audit).toEqual(audit.slice(-1))
  expect((await list(`?until=${then}`, id)).audit).toEqual([before])
  expect((await list(`?since=${then}&until=${then}`, id)).audit).toEqual([])
})

test('an unknown kind is refused with the nearest kinds', async () => {
  const refused = async (kind: string) => {
    const reply = await world.owner.call({ target: `/api/admin/audit?kind=${kind}` })
    expect(reply).toMatchObject({ status: 422, json: { error: 'invalid_request' } })
    const { details } = reply.json as { details: { faults: { path: string; problem: string }[] } }
    expect(details.faults).toMatchObject([{ path: 'query/kind' }])
    return details.faults[0]?.problem
  }
  const known = Object.keys(auditKinds).length
  expect(await refused('session.fence')).toBe(
    `is not one of the ${known} known words; the nearest are session.fenced`,
  )
  expect(await refused('takeover.made')).toContain('takeover.issued')
  for (const far of ['everything', 'x'.repeat(2000)])
    expect(await refused(far)).toBe(`is not one of the ${known} known words`)
})

test('an invalid filter is refused by its name', async () => {
  for (const query of [
    'kind=everything',
    'order=random',
    'since=yesterday',
    'actor_id=ada',
    'wait_seconds=1',
  ]) {
    const reply = await world.owner.call({ target: `/api/admin/projects/${pair.project.id}/audit?${query}` })
    expect(reply.json).toMatchObject({ error: 'invalid_request' })
    expect(reply.text).toContain(`query/${query.split('=')[0]}`)
  }
})

test('a record of another project is not found by its id', async () => {
  const [record] = (await list()).audit
  const other = await world.project()
  const reply = await world.owner.call({ target: `/api/admin/projects/${other}/audit/${record?.id}` })
  expect(reply.json).toMatchObject({ error: 'not_found' })
  expect(
    await world.owner.ok({ target: `/api/admin/projects/${pair.project.id}/audit/${record?.id}` }),
  ).toEqual(record)
})

test('the audit log of the node contains exactly the records without a project', async () => {
  const { audit } = await world.owner.ok<AuditList>({ target: '/api/admin/audit?limit=100' })
  expect(kinds(audit)).toEqual(expect.arrayContaining(['owner.set_up', 'owner.signed_in']))
  expect(audit.filter(({ project_id }) => project_id !== null)).toEqual([])
})

test('without a cursor the events endpoint returns the latest records, oldest first', async () => {
  const all = (await list('?limit=100')).audit
  const { events, has_more, next_after } = await wait('?limit=2')
  expect(events).toEqual(all.slice(-2))
  expect({ has_more, next_after }).toEqual({ has_more: false, next_after: all.at(-1)?.id })
})

test('a long-poll ends with the next record of its own project and kind, and ignores others', async () => {
  const id = await world.project()
  const { next_after } = await wait('', id)
  const started = performance.now()
  const waiting = wait(`?after=${next_after}&wait_seconds=20&kind=project.state_changed`, id)
  await world.setProject(pair.project.id, 'paused')
  await world.setProject(pair.project.id, 'active')
  await world.owner.createAgent(id, 'cy')
  await world.setProject(id, 'paused')
  expect(kinds((await waiting).events)).toEqual(['project.state_changed'])
  // Without a notification the request would wait for twenty seconds.
  expect(performance.now() - started).toBeLessThan(15_000)
})

test('a long-poll ends immediately when its sign-in ends', async () => {
  const { next_after } = await wait('')
  const other = await world.signedIn()
  const target = `/api/admin/projects/${pair.project.id}/events?after=${next_after}&wait_seconds=20`
  const waiting = other.call({ target })
  const { id } = await other.ok<{ id: string }>({ target: '/api/admin/session' })
  await world.owner.ok({ target: `/api/admin/sessions/${id}/revoke`, body: {} })
  expect((await waiting).json).toMatchObject({ error: 'owner_session_expired' })
})

const times = { since: '2026-01-01T00:00:00.000Z', until: '2027-01-01T00:00:00.000Z' }

function planOf(query: AuditQuery): string[] {
  const database = new Database(join(world.bridge.data, 'bridge.db'), { readonly: true })
  onTestFinished(() => {
    database.close()
  })
  const { sql, parameters } = recordsQuery(compileOnly, pair.project.id, { ...query, ...times }).compile()
  const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters) as { detail: string }[]
  return rows.map(({ detail }) => detail)
}

/** The query plan step that finds the start or end of a page: one lookup by id. */
const bound = (than: '<' | '>') => `SEARCH audit USING COVERING INDEX sqlite_autoindex_audit_1 (id${than}?)`

onSqlite('test/server/postgres/plans.test.ts').test(
  'every query of the audit log runs along one index',
  () => {
    const kind = 'session.started'
    const actor_id = pair.ada.id
    const subject_id = pair.ada.id
    const ways: readonly (readonly [string, AuditQuery])[] = [
      ['audit_by_project (project_id=? AND', {}],
      ['audit_by_kind (project_id=? AND kind=? AND', { kind: 'message.sent' }],
      ['audit_by_actor (project_id=? AND actor_id=? AND kind=? AND', { actor_id, kind: 'message.sent' }],
      ['audit_by_actor (project_id=? AND actor_id=? AND kind=? AND', { kind, actor_id }],
      ['audit_by_subject (subject_id=? AND', { subject_id, kind, actor_id }],
    ]
    for (const [index, query] of ways) {
      for (const order of ['oldest_first', 'newest_first'] as const)
        expect(
          planOf({ ...query, order })
            .filter((step) => !step.startsWith('SCALAR'))
            .sort(),
        ).toEqual([bound('<'), bound('>'), `SEARCH audit USING INDEX ${index} rowid>? AND rowid<?)`])
    }
  },
)

onSqlite('test/server/postgres/plans.test.ts').test(
  'a filter by actor alone merges the kinds of that actor, each found by an index lookup',
  () => {
    for (const order of ['oldest_first', 'newest_first'] as const) {
      const steps = planOf({ actor_id: pair.ada.id, order })
      // Only the selected records are read in full and sorted: one page of each kind.
      expect(steps.filter((step) => /^SCAN (?!kinds\b)|TEMP B-TREE/.test(step))).toEqual([])
      expect(steps.join('\n')).toMatch(
        /audit_by_actor \(project_id=\? AND actor_id=\? AND kind=\? AND rowid>\? AND rowid<\?\)/,
      )
    }
  },
)

test('with a filter by actor alone, each page continues after the previous one in both orders', async () => {
  const all = async (query: string, limit = 2) => {
    const records: { id: string; actor: { id: string } }[] = []
    for (let after = ''; ; ) {
      const page = await world.owner.ok<{ audit: typeof records; has_more: boolean; next_after: string }>({
        target: `/api/admin/projects/${pair.project.id}/audit?limit=${limit}&${query}${after}`,
      })
      records.push(...page.audit)
      if (!page.has_more) return records
      after = `&after=${page.next_after}`
    }
  }
  const expected = (await all('', 100)).filter(({ actor }) => actor.id === pair.ada.id)
  expect(expected.length).toBeGreaterThan(2)
  expect(await all(`actor_id=${pair.ada.id}`)).toEqual(expected)
  expect(await all(`actor_id=${pair.ada.id}&order=newest_first`)).toEqual(expected.toReversed())
})
