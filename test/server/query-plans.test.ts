/**
 * The cost of the most frequent reads does not depend on the stored rows: every statement of these requests
 * follows an index, scans no table and sorts no rows. `npm run bench -- rows` measures it.
 */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { overdueSince } from '../../server/audit-reading/overdue.ts'
import { createReader } from '../../server/database/sqlite/reader.ts'
import { listUnremoved, reservedBytes, reservedBytesOf } from '../../server/transfers/store.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { sqliteOnly } from '../support/one-store.ts'
import { explain, growing, indexesOf, statementsOf } from '../support/statements.ts'

sqliteOnly('test/server/postgres/plans.test.ts')

let bridge: TestBridge
let conversation: string

beforeAll(async () => {
  bridge = await startBridge()
  const { ada, ben } = bridge
  conversation = await ada.conversationWith(ben.id)
  const { id } = await ada.send(conversation, ben.id, 'first')
  await ada.send(conversation, ben.id, 'second')
  await ben.acknowledge(id)
})
afterAll(() => bridge.close())

const asBen = (target: string) => () => bridge.ben.ok({ target })
const asOwner = (path: string) => () =>
  bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}${path}` })

type Way = readonly [request: () => Promise<unknown>, index: string]
const requests: Readonly<Record<string, Way>> = {
  'an inbox': [asBen('/api/v1/inbox'), 'messages_fresh'],
  'the redeliveries of an inbox': [
    async () => {
      bridge.clock.advance(120)
      await bridge.ben.ok({ target: '/api/v1/inbox' })
    },
    'messages_due',
  ],
  'everything unacknowledged': [asBen('/api/v1/inbox/messages'), 'messages_fresh'],
  'the latest history': [() => history(''), 'sqlite_autoindex_messages_2'],
  'history after a sequence': [() => history('?after_sequence=1'), 'sqlite_autoindex_messages_2'],
  peers: [asBen('/api/v1/peers'), 'agents_by_project'],
  conversations: [asBen('/api/v1/conversations'), 'conversations_by_second_agent'],
  tasks: [asBen('/api/v1/tasks'), 'tasks_by_assignee'],
  'transfers, in either direction': [asBen('/api/v1/transfers'), 'transfers_by_recipient'],
  'a page of the audit': [asOwner('/audit'), 'audit_by_project'],
  'the audit of an actor': [() => audit(`actor_id=${bridge.ada.id}`), 'audit_by_actor'],
  'the audit of an actor, one kind': [
    () => audit(`actor_id=${bridge.ada.id}&kind=message.sent`),
    'audit_by_actor',
  ],
  'the audit of the commonest kind': [() => audit('kind=message.sent'), 'audit_by_kind'],
  'the audit of one subject': [() => audit(`subject_id=${conversation}`), 'audit_by_subject'],
  'the newest agents': [asOwner('/agents?order=newest_first'), 'agents_by_project'],
  'the newest environments': [asOwner('/environments?order=newest_first'), 'environments_by_project'],
  'the newest pairings': [asOwner('/pairings?order=newest_first'), 'pairings_by_project'],
  'the newest credentials': [asOwner('/credentials?order=newest_first'), 'credentials_by_project'],
  'the newest enrolments': [asOwner('/enrollments?order=newest_first'), 'enrollments_by_project'],
  'the newest conversations': [asOwner('/conversations?order=newest_first'), 'conversations_by_project'],
  'the newest transfers': [asOwner('/transfers?order=newest_first'), 'transfers_by_project'],
  'the newest transfers of a state': [
    asOwner('/transfers?order=newest_first&state=offered'),
    'transfers_by_project_state',
  ],
  'the newest projects': [
    () => bridge.owner.ok({ target: '/api/admin?order=newest_first' }),
    'sqlite_autoindex_projects_1',
  ],
  'the last events': [asOwner('/events'), 'audit_by_project'],
  'a snapshot': [asOwner(''), 'messages_to_owner'],
  'a failed sign-in': [
    async () => {
      bridge.clock.advance(61)
      const body = { link_token: 'a'.repeat(43) }
      expect((await bridge.owner.call({ target: '/api/admin/session', body })).status).toBe(401)
    },
    'audit_by_kind',
  ],
}

const history = (query: string) =>
  bridge.ben.ok({ target: `/api/v1/conversations/${conversation}/messages${query}` })
const audit = (query: string) =>
  bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}/audit?${query}` })

test.each(Object.entries(requests))('the statements for %s follow an index', async (_, [request, index]) => {
  const explained = explain(bridge.data, await statementsOf(request))
  expect(growing(explained)).toEqual([])
  expect(indexesOf(explained)).toContain(index)
})

test('the next overdue schedule of a project is found by an index', async () => {
  const reader = createReader({ path: join(bridge.data, 'bridge.db') })
  onTestFinished(() => reader.close())
  const [now, presence] = [new Date(), { overdueFrom: () => undefined }]
  const find = () =>
    reader.read((db) => overdueSince({ presence, steady: { now: () => now } }, db, bridge.project.id, now))
  const explained = explain(bridge.data, await statementsOf(find))
  expect(growing(explained).filter(({ steps }) => !steps.includes('SCAN shown'))).toEqual([])
  expect(indexesOf(explained)).toContain('agents_by_project')
})

test('remaining package files are found by an index of the remaining ones, not of all transfers', async () => {
  const reader = createReader({ path: join(bridge.data, 'bridge.db') })
  onTestFinished(() => reader.close())
  const plansOf = async (unit: Parameters<typeof reader.read>[0]) =>
    indexesOf(explain(bridge.data, await statementsOf(() => reader.read(unit))))
  expect(await plansOf((db) => listUnremoved(db, 10))).toContain('transfers_unremoved')
  expect(await plansOf(reservedBytes)).toContain('transfers_reserved')
  expect(await plansOf((db) => reservedBytesOf(db, 'id'))).toContain('transfers_reserved')
})
