/** The overview of a project, and the entries that need the owner's attention. Contract §10 "Snapshot". */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Message } from '../../../sdk/contract/agent/messages.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import type { AttentionItem, ProjectSnapshot } from '../../../sdk/contract/owner/snapshot.ts'
import type { HostSampleList } from '../../../sdk/contract/telemetry.ts'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { version } from '../../../sdk/version.ts'
import { claimBody, enroll, type TestAgent } from '../../support/agent.ts'
import { exchange } from '../../support/http.ts'
import { cookieOf, ownerName, ownerPassword, TestOwner } from '../../support/owner.ts'
import { daysAgo, tamper } from '../../support/tamper.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

const snapshot = (id: string) => world.owner.ok<ProjectSnapshot>({ target: `/api/admin/projects/${id}` })

/** Signs in with the password, because a link of the host runs by the host's clock. */
async function signIn({ url }: World['bridge']): Promise<TestOwner> {
  const reply = await exchange(url, {
    method: 'POST',
    target: '/api/admin/session',
    headers: [
      ['Origin', url],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ name: ownerName, password: ownerPassword }),
  })
  return new TestOwner(url, cookieOf(reply))
}

const attention = async ({ project }: Pick<Pair, 'project'>): Promise<AttentionItem[]> =>
  (await snapshot(project.id)).attention

test('a snapshot shows the project, its agents with their observed state, and the latest activity', async () => {
  const { project, ada, ben, conversation } = await world.pair()
  await ada.send(conversation, ben.id, 'a text that stays where it is')
  const found = await snapshot(project.id)
  expect(found.project).toMatchObject({ id: project.id, state: 'active' })
  expect(found.agents).toMatchObject([
    { id: ada.id, waiting: 0, connection: { connected: true, listening_now: false } },
    { id: ben.id, waiting: 1, connection: { connected: true, next_contact: { kind: 'unknown' } } },
  ])
  expect(found.counts).toEqual({
    ...{ agents: 2, enabled: 2, connected: 2, listening_now: 0, overdue: 0 },
    ...{ unacknowledged: 1, to_owner: 0, pending_enrollments: 0 },
    tasks: { open: 0, claimed: 0, cancel_requested: 0 },
  })
  expect(found.activity.at(0)).toMatchObject({ kind: 'project.created' })
  expect(found.activity.at(-1)).toMatchObject({ kind: 'message.sent', actor: { name: ada.name } })
  expect(found.observed_at).toBe(found.agents[0]?.connection.observed_at)
  expect(JSON.stringify(found)).not.toContain('stays where it is')
})

test('the owner sees the nodes of the installation in a snapshot, and an administrator does not', async () => {
  const project = await world.project()
  const { id, by } = await world.administrator()
  await world.assign(id, project, true)
  const { nodes } = await world.owner.ok<HostSampleList>({ target: '/api/admin/telemetry' })
  const measured = {
    seen_at: expect.any(String),
    cpu_percent: expect.any(Number),
    lag_ms: expect.any(Number),
  }
  expect((await snapshot(project)).nodes).toEqual(nodes.map((node) => ({ ...node, ...measured })))
  expect(nodes).toMatchObject([{ version, waits: 0 }])
  const seen = await by.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project}` })
  expect(seen).not.toHaveProperty('nodes')
})

test('of the activity a snapshot shows the latest hundred records, oldest first', async () => {
  const id = await world.project()
  for (let turn = 0; turn < 51; turn += 1)
    for (const state of ['paused', 'active'] as const) await world.setProject(id, state)
  const { activity } = await snapshot(id)
  const { audit } = await world.owner.ok<{ audit: unknown[] }>({
    target: `/api/admin/projects/${id}/audit?order=newest_first&limit=100`,
  })
  expect(activity).toHaveLength(limits.activityRecords)
  expect(activity.toReversed()).toEqual(audit)
})

test('a snapshot shows the schedule of an agent, and that it is overdue', async () => {
  const other = await world.elsewhere()
  const { project, ada, ben, conversation } = await other.pair()
  const read = () => other.owner.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project.id}` })
  await ada.ok({ target: '/api/v1/connection-mode', body: { mode: 'short_poll', interval_seconds: 60 } })
  await ben.ok({ target: '/api/v1/connection-mode', body: { mode: 'checkpoint' } })
  const next = ({ agents }: ProjectSnapshot) => agents.map(({ connection }) => connection.next_contact)
  expect(next(await read())).toMatchObject([
    { kind: 'scheduled', overdue: false },
    { kind: 'after_current_work_step', expected_at: null, overdue: false },
  ])
  await ada.send(conversation, ben.id, 'for your next step')
  other.bridge.clock.advance(91)
  const late = await read()
  expect(late.counts).toMatchObject({ overdue: 1, connected: 0 })
  // Ben declared that he checks after each step, so his mail is expected to wait.
  expect(late.attention).toMatchObject([{ kind: 'agent_overdue', agent: { name: ada.name }, count: 1 }])
})

test('mail for an agent that is not listening needs attention until that agent reads it', async () => {
  const other = await world.elsewhere()
  const { project, ada, ben, conversation } = await other.pair()
  const read = () => other.owner.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project.id}` })
  for (const text of ['one', 'two']) await ada.send(conversation, ben.id, text)
  expect((await read()).attention).toEqual([])
  other.bridge.clock.advance(limits.connectedSeconds)
  expect((await read()).attention).toMatchObject([
    { kind: 'unread_unheard', agent: { id: ben.id, name: ben.name }, count: 2 },
  ])
  await ben.inbox()
  expect((await read()).attention).toEqual([])
})

test('a question to the owner needs attention until it is answered or acknowledged', async () => {
  const { project, ada } = await world.pair()
  const conversation = await ada.conversationWith(ada.id)
  const ask = async (text: string) => {
    const body = { conversation_id: conversation, recipient_agent_id: ada.id, type: 'question', body: text }
    return (await ada.ok<{ message: { id: string } }>({ target: '/api/v1/messages', body })).message.id
  }
  const [first, second] = [await ask('may I?'), await ask('and now?')]
  const kinds = async () => (await attention({ project })).map(({ kind, subject }) => [kind, subject.id])
  expect(await kinds()).toEqual([
    ['question_to_owner', second],
    ['question_to_owner', first],
  ])
  expect((await snapshot(project.id)).counts.to_owner).toBe(2)
  await world.owner.ok({
    target: `/api/admin/projects/${project.id}/messages`,
    body: { recipient_agent_id: ada.id, type: 'answer', body: 'yes', in_reply_to: first },
    key: crypto.randomUUID(),
  })
  expect(await kinds()).toEqual([['question_to_owner', second]])
  await world.owner.ok({
    target: `/api/admin/projects/${project.id}/acknowledgements`,
    body: { message_ids: [first, second] },
  })
  expect(await kinds()).toEqual([])
  expect((await snapshot(project.id)).counts.to_owner).toBe(0)
})

test('a second use of an enrolment needs attention', async () => {
  const id = await world.project()
  const agentId = await world.unenrolled(id)
  const code = await world.owner.enrollmentCode(id, agentId)
  expect((await snapshot(id)).counts.pending_enrollments).toBe(1)
  const claim = () =>
    exchange(world.bridge.url, {
      method: 'POST',
      target: '/api/v1/enrollments/claim',
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify(claimBody(code, generateKeyPair())),
    })
  expect((await claim()).status).toBe(200)
  expect(await attention({ project: { id } })).toEqual([])
  expect((await claim()).status).toBe(410)
  const found = await snapshot(id)
  expect(found.attention).toMatchObject([
    { kind: 'enrollment_reused', subject: { type: 'enrollment' }, agent: { id: agentId }, count: 1 },
  ])
  expect(found.counts.pending_enrollments).toBe(0)
  expect(JSON.stringify(found)).not.toContain(code)
})

test('a tripped guard needs attention until the owner writes in the conversation', async () => {
  const project = await world.owner.createProject(world.name('project'), { policy: { message_budget: 1 } })
  const [ada, ben] = [await world.agent(project.id), await world.agent(project.id)]
  const conversation = await ada.conversationWith(ben.id)
  await ada.send(conversation, ben.id, 'ping')
  await expect(ada.send(conversation, ben.id, 'ping')).rejects.toThrow('conversation_budget')
  expect(await attention({ project })).toMatchObject([
    { kind: 'guard_tripped', agent: { name: ada.name }, subject: { type: 'conversation', id: conversation } },
  ])
  await world.owner.ok({
    target: `/api/admin/projects/${project.id}/messages`,
    body: { recipient_agent_id: ada.id, conversation_id: conversation, body: 'enough' },
    key: crypto.randomUUID(),
  })
  expect(await attention({ project })).toEqual([])
})

test('tasks are counted, and a failed one needs attention for a week', async () => {
  const { project, ada, ben } = await world.pair()
  const create = async (title: string) => {
    const body = { assignee_agent_id: ben.id, title, instructions: 'as told' }
    return (await ada.ok<{ id: string }>({ target: '/api/v1/tasks', body })).id
  }
  const [failing] = [await create('the hard one'), await create('the other one')]
  const { claim } = await ben.ok<{ claim: { generation: number; session_generation: number } }>({
    target: `/api/v1/tasks/${failing}/claim`,
    body: {},
  })
  expect((await snapshot(project.id)).counts.tasks).toEqual({ open: 1, claimed: 1, cancel_requested: 0 })
  const held = { claim_generation: claim.generation, session_generation: claim.session_generation }
  await ben.ok({ target: `/api/v1/tasks/${failing}/fail`, body: { ...held, reason: 'it is too hard' } })
  const found = await snapshot(project.id)
  expect(found.counts.tasks).toEqual({ open: 1, claimed: 0, cancel_requested: 0 })
  expect(found.attention).toMatchObject([
    { kind: 'task_failed', subject: { type: 'task', id: failing }, agent: { name: ben.name }, count: 1 },
  ])
  expect(JSON.stringify(found)).not.toContain('too hard')
  tamper(world.bridge.data, (database) =>
    database
      .prepare('UPDATE tasks SET outcome_at = ? WHERE id = ?')
      .run(daysAgo(limits.attentionDays + 0.01), failing),
  )
  expect(await attention({ project })).toEqual([])
})

test('an overdue or silent agent needs no attention while it is disabled', async () => {
  const { project, ada, ben, conversation } = await world.pair()
  await ada.send(conversation, ben.id, 'never mind')
  await world.setAgent(project.id, ben.id, 'disabled')
  const { clock } = world.bridge
  const before = clock()
  onTestFinished(() => clock.set(before))
  clock.advance(limits.connectedSeconds)
  expect(await attention({ project })).toEqual([])
})

test('an agent whose last credential was revoked needs attention until it is enrolled again', async () => {
  const { project, ada, ben } = await world.pair()
  await world.unenrolled(project.id)
  const code = () => world.owner.enrollmentCode(project.id, ada.id, { keep_existing: true })
  const spare = await enroll(world.bridge.url, await code(), world.bridge.clock)
  const revoke = ({ enrolled }: TestAgent) => world.owner.revoke(project.id, enrolled.credential_id)
  await revoke(spare)
  expect(await attention({ project })).toEqual([])
  await revoke(ada)
  expect(await attention({ project })).toMatchObject([
    {
      kind: 'no_credential_left',
      agent: { id: ada.id, name: ada.name },
      subject: { type: 'agent', id: ada.id },
      count: 1,
    },
  ])
  const found = await snapshot(project.id)
  expect(found.counts).toMatchObject({ enabled: 3, connected: 1 })
  await world.setAgent(project.id, ada.id, 'disabled')
  expect(await attention({ project })).toEqual([])
  await world.setAgent(project.id, ada.id, 'enabled')
  expect(await attention({ project })).toHaveLength(1)
  await enroll(world.bridge.url, await code(), world.bridge.clock)
  expect(await attention({ project })).toEqual([])
  expect((await snapshot(project.id)).agents.find(({ id }) => id === ben.id)?.connection.connected).toBe(true)
})

test('an expired credential without another one needs attention too', async () => {
  const other = await world.elsewhere()
  const { owner, bridge } = other
  const { project, ada } = await other.pair()
  const expires_at = new Date(bridge.clock().getTime() + 60_000).toISOString()
  await owner.issueLegacy(project.id, ada.id, { expires_at, replaces: ada.enrolled.credential_id })
  const read = async () =>
    (await owner.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project.id}` })).attention
  expect(await read()).toEqual([])
  bridge.clock.advance(60)
  expect(await read()).toMatchObject([{ kind: 'no_credential_left', at: expires_at, agent: { id: ada.id } }])
})

test('a question between agents needs attention once it is overdue relative to its own waiting time', async () => {
  const other = await world.elsewhere()
  const { owner, bridge } = other
  const { project, ada, ben, conversation } = await other.pair()
  const ask = async (seconds: number | undefined, fields: object = {}) => {
    const by =
      seconds === undefined
        ? {}
        : { expects_reply_by: new Date(bridge.clock().getTime() + seconds * 1000).toISOString() }
    const body = { conversation_id: conversation, recipient_agent_id: ben.id, type: 'question', body: 'so?' }
    const target = '/api/v1/messages'
    const { message } = await ada.ok<{ message: Message }>({ target, body: { ...body, ...by, ...fields } })
    return message
  }
  const reply = (by: TestAgent, to: TestAgent, in_reply_to: string) =>
    by.ok({
      target: '/api/v1/messages',
      body: {
        ...{ conversation_id: conversation, recipient_agent_id: to.id, type: 'answer', body: 'yes' },
        in_reply_to,
      },
    })
  const overdue = async () =>
    (await owner.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project.id}` })).attention.filter(
      ({ kind }) => kind === 'question_overdue',
    )
  const [first, second, third] = [await ask(600), await ask(600), await ask(600)]
  const short = await ask(60)
  await ask(undefined)
  await ask(600, { type: 'note' })
  bridge.clock.advance(660)
  await ben.acknowledge(first.id)
  // The first question is overdue by ten times its waiting time, the others by a tenth.
  expect(await overdue()).toMatchObject([{ subject: { id: short.id } }])
  await reply(ben, ada, short.id)
  expect(await overdue()).toEqual([])
  bridge.clock.advance(541)
  expect(await overdue()).toMatchObject([
    {
      at: third.expects_reply_by,
      agent: { id: ben.id, name: ben.name },
      subject: { type: 'message', id: third.id },
    },
    { subject: { id: second.id } },
    { subject: { id: first.id } },
  ])
  // A message of the asking agent is no answer; a message of its peer is, and so is one of the owner.
  await reply(ada, ben, first.id)
  await reply(ben, ada, second.id)
  await owner.ok({
    target: `/api/admin/projects/${project.id}/messages`,
    body: {
      recipient_agent_id: ada.id,
      conversation_id: conversation,
      body: 'leave it',
      in_reply_to: third.id,
    },
    key: crypto.randomUUID(),
  })
  expect(await overdue()).toMatchObject([{ subject: { id: first.id } }])
  bridge.clock.advance(limits.attentionDays * 86_400)
  const later = await signIn(bridge)
  const { attention: left } = await later.ok<ProjectSnapshot>({ target: `/api/admin/projects/${project.id}` })
  expect(left.filter(({ kind }) => kind === 'question_overdue')).toEqual([])
})
