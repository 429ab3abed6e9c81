/**
 * The owner's inbox: messages to the owner that nobody acknowledged, of one project and of all that the
 * caller may see. Contract §10.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import type { OwnerInbox } from '../../sdk/contract/owner/messages.ts'
import type { TestAgent } from '../support/agent.ts'
import { onSqlite } from '../support/one-store.ts'
import type { TestOwner } from '../support/owner.ts'
import { explain, growing, statementsOf } from '../support/statements.ts'
import { type Pair, startWorld, type World } from './endpoints/world.ts'

let world: World
let one: Pair
let other: Pair
beforeAll(async () => {
  world = await startWorld()
  one = await world.pair()
  other = await world.pair()
})
afterAll(() => world.close())

async function toOwner(agent: TestAgent, text: string): Promise<string> {
  return (await agent.send(await agent.conversationWith(agent.id), agent.id, text)).id
}

const all = (by: TestOwner, query = '') => by.ok<OwnerInbox>({ target: `/api/admin/inbox${query}` })
const ofProject = (by: TestOwner, { project }: Pair, query = '') =>
  by.ok<OwnerInbox>({ target: `/api/admin/projects/${project.id}/inbox${query}` })
const bodies = ({ messages }: OwnerInbox) => messages.map(({ body }) => body)
const acknowledge = (by: TestOwner, { project }: Pair, ...ids: string[]) =>
  by.call({ target: `/api/admin/projects/${project.id}/acknowledgements`, body: { message_ids: ids } })

test('both lists are oldest first, with the conversation, until a message is acknowledged', async () => {
  const { owner } = world
  const first = await toOwner(one.ada, 'first')
  await toOwner(other.ada, 'elsewhere')
  await one.ada.send(one.conversation, one.ben.id, 'between agents')
  await owner.message(one.project.id, one.ada.id, 'from the owner')
  await toOwner(one.ben, 'second')

  const page = await ofProject(owner, one)
  expect(bodies(page)).toEqual(['first', 'second'])
  expect(page.messages[0]).toMatchObject({
    id: first,
    recipient: { kind: 'owner' },
    delivery: { acknowledged_at: null },
    conversation: {
      project_id: one.project.id,
      kind: 'owner',
      participants: [{ agent_id: one.ada.id }, { kind: 'owner' }],
    },
  })
  expect(page.messages[0]?.conversation_id).toBe(page.messages[0]?.conversation.id)
  expect(bodies(await all(owner))).toEqual(['first', 'elsewhere', 'second'])

  expect((await acknowledge(owner, one, first)).status).toBe(200)
  expect(bodies(await ofProject(owner, one))).toEqual(['second'])
  expect(bodies(await all(owner))).toEqual(['elsewhere', 'second'])
})

test('the cursor leads from page to page, and an empty page repeats it', async () => {
  const { owner } = world
  const start = await all(owner, '?limit=1')
  expect(start).toMatchObject({ has_more: true, next_after: start.messages[0]?.id })
  const rest = await all(owner, `?after=${start.next_after}`)
  expect(bodies(start).concat(bodies(rest))).toEqual(['elsewhere', 'second'])
  expect(rest.has_more).toBe(false)
  const end = await all(owner, `?after=${rest.next_after}`)
  expect(end).toEqual({ messages: [], has_more: false, next_after: rest.next_after })
  const { status, json } = await owner.call({ target: `/api/admin/inbox?limit=${limits.pageMax + 1}` })
  expect([status, json]).toMatchObject([422, { error: 'invalid_request' }])
})

test('an administrator sees assigned projects only, and an agent sees neither list', async () => {
  const kim = await world.administrator()
  expect(bodies(await all(kim.by))).toEqual([])
  await world.assign(kim.id, other.project.id, true)
  expect(bodies(await all(kim.by))).toEqual(['elsewhere'])
  expect(bodies(await ofProject(kim.by, other))).toEqual(['elsewhere'])
  const refused = await kim.by.call({ target: `/api/admin/projects/${one.project.id}/inbox` })
  expect([refused.status, refused.json]).toMatchObject([404, { error: 'not_found' }])
  for (const path of ['inbox', `projects/${one.project.id}/inbox`]) {
    const { status, json } = await one.ada.call({ target: `/api/admin/${path}` })
    expect([status, json]).toMatchObject([401, { error: 'owner_session_expired' }])
  }
  await world.assign(kim.id, other.project.id, false)
  expect(bodies(await all(kim.by))).toEqual([])
})

onSqlite('test/server/postgres/plans.test.ts').test(
  'an inbox searches the index of unacknowledged messages, and scans no table',
  async () => {
    const { owner, bridge } = world
    for (const read of [() => ofProject(owner, one), () => all(owner)]) {
      const texts = (await statementsOf(read)).filter((text) => text.includes('from "messages"'))
      expect(texts.length).toBeGreaterThan(0)
      const found = explain(bridge.data, texts)
      expect(found.flatMap(({ steps }) => steps).join('\n')).toContain('messages_to_owner')
      expect(growing(found)).toEqual([])
    }
  },
)
