/** The calls of the owner's client on a real server: projects, agents, messages, access, administrators. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Fetch, Owner, pooledFetch } from '../../sdk/program.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { refusal, signIn } from './owner-client.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})

afterAll(async () => {
  await bridge.close()
})

test('an owner creates projects, environments and agents, and finds them again page by page', async () => {
  const owner = await signIn(bridge)
  const project = await owner.projects.create({ name: 'paged', policy: { idle_seconds: 60 } })
  const environment = await owner.environments.create(project.id, { name: 'desk', kind: 'laptop' })
  const wished = ['eve', 'fay', 'gus']
  for (const name of wished) await owner.agents.create(project.id, { name, environment_id: environment.id })
  const first = await owner.agents.list(project.id, { limit: 2 })
  expect(first).toMatchObject({ has_more: true, agents: [{ name: 'eve' }, { name: 'fay' }] })
  const rest = await owner.agents.list(project.id, { limit: 2, after: first.next_after ?? '' })
  expect(rest).toMatchObject({ has_more: false, agents: [{ name: 'gus' }] })
  const all: string[] = []
  for await (const { name } of owner.agents.all(project.id)) all.push(name)
  expect(all).toEqual(wished)
  expect(await refusal(owner.agents.create(project.id, { name: 'eve' }))).toMatchObject({
    code: 'name_taken',
  })
  expect(await refusal(owner.agents.get(project.id, bridge.ada.id))).toMatchObject({ code: 'not_found' })
})

test('a message whose answer was lost is stored once, with one key', async () => {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const keys: (string | undefined)[] = []
  const losingFirst: Fetch = async (url, init) => {
    const response = await pool.fetch(url, init)
    if (!url.endsWith('/messages')) return response
    keys.push(init.headers['Idempotency-Key'])
    if (keys.length > 1) return response
    await response.text()
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  const owner = await signIn(bridge, losingFirst)
  const note = { recipient_agent_id: bridge.ben.id, body: 'only once' }
  const stored = await owner.messages.send(bridge.project.id, note)
  expect(keys).toHaveLength(2)
  expect(keys[0]).toBe(keys[1])
  const { messages } = await owner.conversations.history(bridge.project.id, stored.conversation_id)
  expect(messages.filter(({ body }) => body === 'only once').map(({ id }) => id)).toEqual([stored.id])

  const options = { idempotencyKey: 'key-of-the-test' }
  await owner.messages.send(bridge.project.id, note, options)
  const other = { ...note, body: 'another text' }
  expect(await refusal(owner.messages.send(bridge.project.id, other, options))).toMatchObject({
    code: 'idempotency_conflict',
  })
})

test('the owner reads a conversation in both directions and acknowledges messages to the owner', async () => {
  const owner = await signIn(bridge)
  const { id: projectId } = bridge.project
  const { conversation_id } = await owner.messages.send(projectId, {
    recipient_agent_id: bridge.ada.id,
    body: 'well?',
  })
  const answer = await bridge.ada.send(conversation_id, bridge.ada.id, 'well!')
  const place = { afterSequence: answer.sequence - 1 }
  const forward = await owner.conversations.history(projectId, conversation_id, place)
  expect(forward).toMatchObject({ messages: [{ id: answer.id, sender: { kind: 'agent', name: 'ada' } }] })
  const backward = await owner.conversations.history(projectId, conversation_id, {
    beforeSequence: answer.sequence,
  })
  expect(backward.messages.at(-1)).toMatchObject({ body: 'well?', sender: { kind: 'owner' } })
  const both = { afterSequence: 1, beforeSequence: 2 }
  expect(await refusal(owner.conversations.history(projectId, conversation_id, both))).toMatchObject({
    code: 'invalid_request',
  })
  expect(await owner.messages.acknowledge(projectId, [answer.id])).toEqual({
    acknowledged: [answer.id],
    already: [],
  })
  expect(await owner.messages.acknowledge(projectId, [answer.id])).toEqual({
    acknowledged: [],
    already: [answer.id],
  })
  const own = backward.messages.at(-1)?.id ?? ''
  expect(await refusal(owner.messages.acknowledge(projectId, [own]))).toMatchObject({ code: 'not_found' })
})

test('credentials, pairings and sessions are listed, changed and refused', async () => {
  const owner = await signIn(bridge)
  const { id: projectId } = bridge.project
  const [ada, ben] = [bridge.ada.id, bridge.ben.id]
  expect(await owner.pairings.set(projectId, [ben, ada], false)).toMatchObject({ enabled: false })
  expect((await owner.pairings.list(projectId)).pairings).toContainEqual(
    expect.objectContaining({ enabled: false }),
  )
  expect(await owner.pairings.set(projectId, [ada, ben], true)).toMatchObject({ enabled: true })
  expect(await refusal(owner.pairings.set(projectId, [ada, projectId], true))).toMatchObject({
    code: 'not_found',
  })

  const { credentials } = await owner.credentials.list(projectId)
  expect(credentials).toContainEqual(
    expect.objectContaining({ agent_id: ada, binding: 'key', revoked_at: null }),
  )
  expect(await refusal(owner.credentials.revoke(projectId, ada))).toMatchObject({ code: 'not_found' })

  const another = await signIn(bridge)
  const { id = '' } = another.session ?? {}
  expect(await owner.signIn.revoke(id)).toMatchObject({ id })
  expect(await refusal(another.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(await refusal(owner.signIn.revoke(projectId))).toMatchObject({ code: 'not_found' })
})

test('an owner assigns a project to a person who signs in by a link, and deletes it', async () => {
  const owner = await signIn(bridge)
  const project = await owner.projects.create({ name: 'handed over' })
  const { administrator, link, expires_at } = await owner.administrators.create({
    name: 'kim',
    ttl_seconds: 60,
  })
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now())
  expect(await owner.administrators.assign(administrator.id, project.id)).toMatchObject({
    has_password: false,
    project_ids: [project.id],
  })
  const kim = await Owner.signIn({ baseUrl: bridge.url, linkToken: new URL(link).hash.slice(1) })
  onTestFinished(() => kim.close())
  expect(kim.session?.user).toEqual({ id: administrator.id, name: 'kim', role: 'administrator' })
  const { agent } = await kim.agents.create(project.id, { name: 'ada' })
  const { updated_at } = await kim.agents.setInstructions(project.id, agent.id, 'Read once.')
  await kim.agents.setInstructions(project.id, agent.id, 'Read twice.', { ifUpdatedAt: updated_at })
  const late = kim.agents.setInstructions(project.id, agent.id, 'Lost.', { ifUpdatedAt: null })
  expect(await refusal(late)).toMatchObject({ code: 'state_conflict' })
  const desk = await kim.environments.create(project.id, { name: 'desk', kind: 'laptop' })
  expect(await kim.environments.change(project.id, 'desk', { kind: 'ci' })).toEqual({ ...desk, kind: 'ci' })
  expect(await kim.agents.change('handed over', 'ada', { environment_id: 'desk' })).toMatchObject({
    environment_id: desk.id,
  })
  expect(await kim.projects.change(project.id, { policy: { audit_days: 30 } })).toMatchObject({
    name: 'handed over',
    policy: { audit_days: 30 },
  })
  expect(await kim.agents.rename(project.id, agent.id, 'eva')).toEqual({ id: agent.id, name: 'eva' })
  expect((await kim.agents.instructions(project.id, agent.id)).rendered).toMatch(
    /^You are eva.*Read twice\.$/s,
  )
  const { enrollment_id } = await kim.enrollments.create(project.id, agent.id)
  const pending = []
  for await (const each of kim.enrollments.all(project.id, { state: 'pending' })) pending.push(each.id)
  expect(pending).toEqual([enrollment_id])
  expect(await kim.enrollments.revoke(project.id, enrollment_id)).toMatchObject({ state: 'revoked' })
  expect(await kim.enrollments.read(project.id, enrollment_id)).toMatchObject({ agent_id: agent.id })
  expect((await kim.transfers.list(project.id)).transfers).toEqual([])

  expect(await refusal(kim.projects.create({ name: 'another' }))).toMatchObject({ code: 'not_permitted' })
  expect(await refusal(kim.agents.list(bridge.project.id))).toMatchObject({ code: 'not_found' })
  expect(await refusal(owner.projects.delete(project.id, 'Handed over'))).toMatchObject({
    code: 'invalid_request',
  })
  await owner.administrators.unassign(administrator.id, project.id)
  expect(await refusal(kim.agents.list(project.id))).toMatchObject({ code: 'not_found' })
  await owner.administrators.setState(administrator.id, 'disabled')
  expect(await refusal(kim.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(await owner.projects.delete(project.id, 'handed over')).toMatchObject({ id: project.id })
})
