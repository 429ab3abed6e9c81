/** A name instead of an id, in every call that accepts one. Contract §13. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Bridge, LocalError, Owner } from '../../sdk/index.ts'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
import { type Asker, askerOf } from './waiting/scene.ts'

let node: TestBridge
let owner: Owner
/** Method and path of the owner's requests. */
const asked: string[] = []
let asker: Asker
let bridge: Bridge
let ben: TestAgent

beforeAll(async () => {
  node = await startBridge()
  ben = node.ben
  const fetched: typeof fetch = fetch
  owner = await Owner.signIn({
    baseUrl: node.url,
    name: ownerName,
    password: ownerPassword,
    fetch: (url, init) => {
      asked.push(`${init.method} ${new URL(url).pathname}`)
      return fetched(url, init as RequestInit)
    },
  })
})
afterAll(async () => {
  await owner.close()
  await node.close()
})
beforeEach(() => {
  asker = askerOf(node.ada)
  bridge = asker.bridge
  asked.length = 0
})
afterEach(() => bridge.close())

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: { code?: unknown; message?: unknown }) => ({ code: error.code, message: String(error.message) }),
  )
const draft = { type: 'note', body: 'hello' } as const
const work = { title: 'Count', instructions: 'count the lines' }
const file = {
  filename: 'a.txt',
  size: 0,
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  mode: 'package',
  encryption: 'none',
} as const
const parts = [{ index: 0, offset: 0, size: 0, sha256: file.sha256 }]

test('an agent can use the name of a peer in place of its id everywhere, and the peers are looked up once', async () => {
  const { message } = await bridge.messages.send({ recipient_agent_id: 'ben', ...draft })
  expect(message).toMatchObject({ recipient_agent_id: ben.id, body: 'hello' })
  const { conversation_id } = message
  for (const recipient_agent_id of ['ben', ben.id, ben.id.toUpperCase()]) {
    const sent = await bridge.messages.send({ recipient_agent_id, conversation_id, ...draft })
    expect(sent.message).toMatchObject({ recipient_agent_id: ben.id, conversation_id })
  }
  for (const assignee_agent_id of ['ben', ben.id])
    expect(await bridge.tasks.create({ assignee_agent_id, ...work })).toMatchObject({
      assignee_agent_id: ben.id,
    })
  for (const recipient_agent_id of ['ben', ben.id])
    expect(await bridge.transfers.offer({ recipient_agent_id, ...file, parts })).toMatchObject({
      recipient_agent_id: ben.id,
      conversation_id,
    })
  for (const peer of ['ben', ben.id]) expect((await bridge.conversations.open(peer)).id).toBe(conversation_id)
  const { messages } = await bridge.conversations.history('ben', { limit: 1 })
  expect(messages.map(({ id }) => id)).toEqual([message.id])
  expect((await bridge.conversations.history(conversation_id, { limit: 1 })).messages).toEqual(messages)
  expect(asker.asked.filter((each) => each === 'GET /api/v1/peers')).toHaveLength(1)
})

test('an agent can use the name of its owner, in their shared conversation', async () => {
  const { message } = await bridge.messages.send({ recipient_agent_id: 'owner', ...draft })
  expect(message).toMatchObject({ recipient: { kind: 'owner' }, recipient_agent_id: node.ada.id })
  expect(await bridge.conversations.open('owner')).toMatchObject({
    id: message.conversation_id,
    kind: 'owner',
  })
  expect((await bridge.conversations.history('owner')).messages).toMatchObject([{ id: message.id }])
})

test('a peer without a conversation has an empty history', async () => {
  await node.agent('cy')
  await node.ada.startSession()
  expect(await bridge.conversations.history('cy')).toEqual({
    messages: [],
    has_more: false,
    next_sequence: 0,
  })
})

test('an unknown peer name is refused with a list of the known ones, and no request is sent', async () => {
  const refused = { code: 'peer_unknown', message: expect.stringMatching(/zoe; there are ben/) }
  const calls = [
    () => bridge.messages.send({ recipient_agent_id: 'zoe', ...draft }),
    () => bridge.tasks.create({ assignee_agent_id: 'zoe', ...work }),
    () => bridge.transfers.offer({ recipient_agent_id: 'zoe', ...file, parts }),
    () => bridge.conversations.open('zoe'),
    () => bridge.conversations.history('zoe'),
  ]
  for (const call of calls) expect(await errorOf(call())).toEqual(refused)
  expect(new Set(asker.asked)).toEqual(new Set(['GET /api/v1/peers']))
  const owners = await errorOf(bridge.tasks.create({ assignee_agent_id: 'owner', ...work }))
  expect(owners).toMatchObject({ code: 'peer_unknown' })
  expect(await errorOf(bridge.tasks.create({ assignee_agent_id: 'Ben', ...work }))).toEqual({
    code: 'peer_unknown',
    message: 'no permitted peer has the name or id Ben; there is ben',
  })
})

test('an id that is no known peer is sent to the node, and the directory is read again', async () => {
  await bridge.tasks.create({ assignee_agent_id: 'ben', ...work })
  const stranger = '01980000-0000-7000-8000-000000000000'
  expect(await errorOf(bridge.tasks.create({ assignee_agent_id: stranger, ...work }))).toMatchObject({
    code: 'not_found',
  })
  await bridge.tasks.create({ assignee_agent_id: 'ben', ...work })
  expect(asker.asked.filter((each) => each === 'GET /api/v1/peers')).toHaveLength(2)
})

test('an owner can use the names of projects, agents and environments in place of their ids everywhere', async () => {
  const { id } = node.project
  const environment = await owner.environments.create('demo', { name: 'laptop', kind: 'laptop' })
  expect(await owner.environments.get('demo', 'laptop')).toEqual(environment)
  const input = { name: 'dee', environment_id: 'laptop' }
  const { agent } = await owner.agents.create('demo', input)
  expect(agent).toMatchObject({ project_id: id, environment_id: environment.id })
  expect(await owner.agents.get('demo', 'dee')).toMatchObject({ id: agent.id })
  expect((await owner.agents.get(id.toUpperCase(), agent.id)).name).toBe('dee')
  expect(await owner.pairings.set('demo', ['ada', 'ben'], true)).toMatchObject({
    agent_ids: expect.arrayContaining([node.ada.id, ben.id]),
  })
  const note = { recipient_agent_id: 'ben', body: 'hello' }
  expect(await owner.messages.send('demo', note)).toMatchObject({ recipient_agent_id: ben.id })
  const given = await owner.tasks.create('demo', { assignee_agent_id: 'ben', ...work })
  expect(given).toMatchObject({ assignee_agent_id: ben.id })
  const { tasks } = await owner.tasks.list('demo', { assigneeAgentId: 'ben' })
  expect(tasks.map((task) => task.id)).toContain(given.id)
  expect((await owner.tasks.list('demo', { assigneeAgentId: 'ada' })).tasks).toEqual([])
  const { audit } = await owner.audit.list('demo', { subjectId: 'dee' })
  expect(audit.map(({ subject }) => subject.id)).toContain(agent.id)
})

test('an owner can use the names of administrators, and of the projects assigned to them', async () => {
  const { administrator } = await owner.administrators.create({ name: 'amy' })
  const assigned = await owner.administrators.assign('amy', 'demo')
  expect(assigned).toMatchObject({ id: administrator.id })
  expect(JSON.stringify(assigned)).toContain(node.project.id)
})

test('an unknown name is refused with the list of names that the owner can use', async () => {
  const refusals: readonly (readonly [call: () => Promise<unknown>, message: string])[] = [
    [() => owner.agents.get('dem', 'ada'), 'no project has the name dem; there is demo'],
    [() => owner.agents.get('demo', 'Ada'), 'no agent has the name Ada; there is ada'],
    [() => owner.environments.get('demo', 'moon'), 'no environment has the name moon; there is laptop'],
    [() => owner.administrators.assign('bob', 'demo'), 'no administrator has the name bob; there is amy'],
  ]
  for (const [call, message] of refusals)
    expect(await errorOf(call())).toEqual({ code: 'name_unknown', message })
  expect(asked.every((each) => each.startsWith('GET '))).toBe(true)
})

test('a renamed object is found immediately, and reading page after page looks a name up once', async () => {
  const { agent } = await owner.agents.create('demo', { name: 'eve' })
  await owner.agents.rename('demo', 'eve', 'eva')
  const { agent: next } = await owner.agents.create('demo', { name: 'eve' })
  expect((await owner.agents.get('demo', 'eve')).id).toBe(next.id)
  expect((await owner.agents.get('demo', 'eva')).id).toBe(agent.id)
  asked.length = 0
  for (let nth = 0; nth < 5; nth += 1) await owner.agents.list('demo')
  expect(asked.filter((each) => each === 'GET /api/admin')).toHaveLength(0)
  const error = await owner.agents.get('demo', 'nobody').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(LocalError)
})

test('two objects of one name are distinguished by their ids', async () => {
  const ids = ['01980000-0000-7000-8000-000000000001', '01980000-0000-7000-8000-000000000002']
  const twins = ids.map((id) => ({ id, name: 'twin' }))
  const kept = owner.keep()
  if (kept === undefined) throw new Error('signed out')
  const strange = Owner.resume(kept, {
    fetch: async () => Response.json({ projects: twins, has_more: false, next_after: null }),
  })
  expect(await errorOf(strange.agents.list('twin'))).toEqual({
    code: 'name_ambiguous',
    message: `more than one project has the name twin: ${ids.join(', ')}`,
  })
  await strange.close()
})
