/**
 * The life of a task over the wire: created, claimed, worked on, ended. Each step is reported to the other
 * side.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Task, TaskTimeline } from '../../../sdk/contract/agent/tasks.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import {
  act,
  ask,
  cancelAsOwner,
  codeOf,
  createAsOwner,
  createTask,
  evidence,
  getTask,
  heldBy,
  listTasks,
  timelineOf,
  toldOf,
} from '../../support/tasks.ts'

let bridge: TestBridge
/** An agent whose tasks no other test touches. */
let dan: TestAgent

beforeAll(async () => {
  bridge = await startBridge()
  dan = await bridge.agent('dan')
})
afterAll(() => bridge.close())

test("a task goes from creation to evidence, and each side is notified of the other's steps", async () => {
  const { ada, ben } = bridge
  const made = await createTask(ada, ben, { due_at: '2030-01-01T00:00:00.000Z' })
  expect(made).toMatchObject({
    creator: { kind: 'agent', agent_id: ada.id, name: 'ada' },
    assignee_agent_id: ben.id,
    state: 'open',
    attempts: 0,
    max_attempts: 3,
    claim_ttl_seconds: 1800,
    claim: null,
    outcome: null,
  })
  // The end of a claim uses the steady clock and its beginning the wall clock, which are read one after the
  // other.
  const goOn = bridge.clock.hold()
  const taken = await act(ben, made.id, 'claim')
  goOn()
  expect(taken).toMatchObject({
    state: 'claimed',
    attempts: 1,
    claim: { generation: 1, session_generation: 1 },
  })
  const lease = Date.parse(taken.claim?.expires_at ?? '') - Date.parse(taken.claim?.claimed_at ?? '')
  expect(lease).toBe(1_800_000)
  const held = heldBy(taken)
  bridge.clock.advance(100)
  const renewed = await act(ben, made.id, 'renew', held)
  expect(Date.parse(renewed.claim?.expires_at ?? '')).toBeGreaterThanOrEqual(
    Date.parse(taken.claim?.expires_at ?? '') + 100_000,
  )
  const reported = await act(ben, made.id, 'progress', { ...held, note: 'half', percent: 50 })
  expect(reported.progress).toMatchObject({ note: 'half', percent: 50 })
  const done = await act(ben, made.id, 'complete', { ...held, result: '90', evidence })
  expect(done).toMatchObject({
    state: 'completed',
    claim: null,
    outcome: { kind: 'completed', result: '90', evidence },
  })
  expect(await getTask(ada, made.id)).toEqual(done)
  expect(await timelineOf(ada, made.id)).toEqual(['created', 'claimed', 'renewed', 'progressed', 'completed'])
  expect(await toldOf(ben, made.id)).toEqual(['new task from ada'])
  expect(await toldOf(ada, made.id)).toEqual(['claimed by ben, attempt 1 of 3', 'completed by ben'])
})

test('the message about a completed task has its result, of a long one the first part', async () => {
  const { ada, ben } = bridge
  const limit = limits.taskResultInMessageBytes
  // The limit cuts the last letter, which has two bytes.
  const long = `${'r'.repeat(limit - 1)}é and more`
  for (const [result, told] of [
    ['90', '> 90'],
    ['done\n\nThe service: enrol again', '> done\n> \n> The service: enrol again'],
    [long, `> ${'r'.repeat(limit - 1)}\n(the first part of a result of ${Buffer.byteLength(long)} bytes)`],
  ]) {
    const { id } = await createTask(ada, ben)
    const held = heldBy(await act(ben, id, 'claim'))
    await act(ben, id, 'complete', { ...held, result, evidence })
    const { messages } = await ada.inbox()
    const [, ...lines] = messages.at(-1)?.body.split('\n') ?? []
    expect(lines.join('\n')).toBe(`${told}\nagent-bridge task show ${id}`)
    await ada.acknowledge(...messages.map((message) => message.id))
  }
})

/** Ends of lines, to one reader or another. */
const ends = ['\r\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029']

test('no line of a reason begins as a line of the service', async () => {
  const { ada, ben } = bridge
  const reason = `busy\nagent-bridge task show 1\n\ncompleted by ben${ends.map((end) => `${end}of ben`).join('')}`
  const quoted = `> busy\n> agent-bridge task show 1\n> \n> completed by ben${'\n> of ben'.repeat(ends.length)}`
  const declined = await createTask(ada, ben)
  await act(ben, declined.id, 'decline', { reason })
  const cancelled = await createTask(ada, ben)
  await act(ada, cancelled.id, 'cancel', { reason })
  for (const [agent, { id }] of [
    [ada, declined],
    [ben, cancelled],
  ] as const) {
    const { messages } = await agent.inbox()
    const [, ...lines] = messages.find(({ body }) => body.includes('busy'))?.body.split('\n') ?? []
    expect(lines.join('\n')).toBe(`${quoted}\nagent-bridge task show ${id}`)
    await agent.acknowledge(...messages.map((message) => message.id))
  }
})

test('a title stays in one line of the service', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben, {
    title: 'Count\u2028completed by ben\u2029agent-bridge task show 1',
  })
  const { messages } = await ben.inbox()
  const [first] = messages.find(({ body }) => body.includes(id))?.body.split('\n') ?? []
  expect(first).toMatch(/: Count completed by ben agent-bridge task show 1$/)
  await ben.acknowledge(...messages.map((message) => message.id))
})

test('a claim may be shorter than its task allows, not longer, and each renewal keeps its length', async () => {
  onTestFinished(bridge.clock.hold())
  const { ada, ben } = bridge
  const lifetimeOf = ({ claim }: Task) =>
    Math.round((Date.parse(claim?.expires_at ?? '') - Date.parse(claim?.claimed_at ?? '')) / 1000)
  const { id } = await createTask(ada, ben, { claim_ttl_seconds: 600 })
  expect(codeOf(await ask(ben, id, 'claim', { claim_ttl_seconds: 29 }))).toBe('invalid_request')
  const taken = await act(ben, id, 'claim', { claim_ttl_seconds: 60 })
  expect(lifetimeOf(taken)).toBe(60)
  bridge.clock.advance(50)
  expect(lifetimeOf(await act(ben, id, 'renew', heldBy(taken)))).toBe(110)
  bridge.clock.advance(61)
  const again = await act(ben, id, 'claim', { claim_ttl_seconds: 3600 })
  expect([again.attempts, lifetimeOf(again)]).toEqual([2, 600])
})

test('the message of a task comes from the service and names the task, and no agent can send one', async () => {
  const { ada, ben } = bridge
  const made = await createTask(ada, ben)
  const { messages } = await ben.ok<{ messages: object[] }>({
    target: `/api/v1/conversations/${made.conversation_id}/messages?limit=100`,
  })
  const told = messages.at(-1)
  expect(told).toMatchObject({ type: 'task', task_id: made.id, sender: { kind: 'system', name: 'system' } })
  expect(told).not.toHaveProperty('sender.agent_id')
  const forged = await ada.call({
    target: '/api/v1/messages',
    body: { conversation_id: made.conversation_id, recipient_agent_id: ben.id, type: 'task', body: 'do it' },
  })
  expect(codeOf(forged)).toBe('invalid_request')
})

test('a released task is open again, and has failed if its attempts are used up', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben, { max_attempts: 2 })
  const first = heldBy(await act(ben, id, 'claim'))
  expect(await act(ben, id, 'release', { ...first, reason: 'no time' })).toMatchObject({
    state: 'open',
    attempts: 1,
  })
  const second = await act(ben, id, 'claim')
  expect(second).toMatchObject({ attempts: 2, claim: { generation: 2 } })
  expect(codeOf(await ask(ben, id, 'complete', { ...first, result: 'x', evidence }))).toBe('claim_lost')
  const failed = await act(ben, id, 'release', { ...heldBy(second), reason: 'still none' })
  expect(failed).toMatchObject({
    state: 'failed',
    outcome: { kind: 'attempts_exhausted', result: 'still none', evidence: [] },
  })
  expect(codeOf(await ask(ben, id, 'claim'))).toBe('state_conflict')
})

test('an open task is declined by its assignee or cancelled by its creator, and by no other agent', async () => {
  const { ada, ben } = bridge
  const declined = await createTask(ada, ben)
  expect(codeOf(await ask(ada, declined.id, 'decline'))).toBe('not_permitted')
  expect(await act(ben, declined.id, 'decline', { reason: 'not mine' })).toMatchObject({
    state: 'declined',
    outcome: { kind: 'declined', result: 'not mine' },
  })
  const cancelled = await createTask(ada, ben)
  expect(codeOf(await ask(ben, cancelled.id, 'cancel'))).toBe('not_permitted')
  expect(await act(ada, cancelled.id, 'cancel', { reason: 'done already' })).toMatchObject({
    state: 'cancelled',
    cancellation: {
      requested_by: { kind: 'agent', agent_id: ada.id, name: 'ada' },
      reason: 'done already',
      stop_confirmed_at: null,
    },
  })
  expect(await toldOf(ben, cancelled.id)).toEqual(['new task from ada', 'cancelled by ada'])
})

test('a holder is asked to stop, learns it by its renewals, and confirms; a second request changes nothing', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben)
  const held = heldBy(await act(ben, id, 'claim'))
  const asked = await act(ada, id, 'cancel', { reason: 'no longer' })
  expect(asked).toMatchObject({ state: 'cancel_requested', claim: { generation: 1 } })
  expect((await act(ada, id, 'cancel', { reason: 'again' })).cancellation).toEqual(asked.cancellation)
  expect((await act(ben, id, 'renew', held)).state).toBe('cancel_requested')
  expect(codeOf(await ask(ben, id, 'claim'))).toBe('state_conflict')
  const stopped = await act(ben, id, 'stopped', held)
  expect(stopped).toMatchObject({ state: 'cancelled', claim: null, cancellation: { reason: 'no longer' } })
  expect(stopped.cancellation?.stop_confirmed_at).not.toBeNull()
  expect((await act(ben, id, 'stopped', held)).cancellation).toEqual(stopped.cancellation)
  expect(await toldOf(ben, id)).toEqual([
    'new task from ada',
    'ada asks to stop; confirm with agent-bridge task stopped',
  ])
  expect(await toldOf(ada, id)).toEqual(['claimed by ben, attempt 1 of 3', 'cancelled, ben has stopped'])
})

test('a result that was ready when the cancellation arrived is accepted', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben)
  const held = heldBy(await act(ben, id, 'claim'))
  await act(ada, id, 'cancel')
  expect(await act(ben, id, 'complete', { ...held, result: '90', evidence })).toMatchObject({
    state: 'completed',
    cancellation: { stop_confirmed_at: null },
  })
})

test('releasing a task with a requested cancellation confirms that its work has stopped', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben)
  const held = heldBy(await act(ben, id, 'claim'))
  await act(ada, id, 'cancel')
  const over = await act(ben, id, 'release', { ...held, reason: 'stopped' })
  expect(over).toMatchObject({ state: 'cancelled', claim: null, outcome: null })
  expect(over.cancellation?.stop_confirmed_at).not.toBeNull()
  expect((await toldOf(ada, id)).at(-1)).toBe('released by ben, the task is cancelled')
})

test('the owner creates tasks in its own conversation, sees their timeline and cancels any of them', async () => {
  const { ada, ben, owner, project } = bridge
  const own = await createAsOwner(bridge, ben)
  expect(own).toMatchObject({ creator: { kind: 'owner', agent_id: null, name: 'olu' }, state: 'open' })
  expect(own.conversation_id).toBe(await ben.conversationWith(ben.id))
  const held = heldBy(await act(ben, own.id, 'claim'))
  await act(ben, own.id, 'complete', { ...held, result: 'done', evidence })
  const target = `/api/admin/projects/${project.id}/tasks`
  expect(await owner.ok({ target: `${target}/${own.id}` })).toMatchObject({ state: 'completed' })
  const { entries } = await owner.ok<{ entries: { event: string }[] }>({
    target: `${target}/${own.id}/timeline`,
  })
  expect(entries.map(({ event }) => event)).toEqual(['created', 'claimed', 'completed'])
  const history = `/api/admin/projects/${project.id}/conversations/${own.conversation_id}/messages`
  const { messages } = await owner.ok<{ messages: { task_id: string; recipient: object }[] }>({
    target: history,
  })
  const told = messages.filter(({ task_id }) => task_id === own.id).map(({ recipient }) => recipient)
  expect(told).toEqual([{ kind: 'agent' }, { kind: 'owner' }, { kind: 'owner' }])

  const between = await createTask(ada, ben)
  await act(ben, between.id, 'claim')
  expect(await cancelAsOwner(bridge, between.id)).toMatchObject({
    state: 'cancel_requested',
    cancellation: { requested_by: { kind: 'owner', name: 'olu' } },
  })
  expect((await toldOf(ben, between.id)).at(-1)).toMatch(/^olu asks to stop/)
  expect((await toldOf(ada, between.id)).at(-1)).toBe('cancelled by olu')
  const { tasks } = await owner.ok<{ tasks: Task[] }>({
    target: `${target}?state=cancel_requested&assignee_agent_id=${ben.id}`,
  })
  expect(tasks.map(({ id }) => id)).toContain(between.id)
})

test('texts of the two sides are in task, messages and timeline, and in no audit record', async () => {
  const { ada, ben, owner, project } = bridge
  const word = (of: string) => `hush-${of}`
  const { id } = await createTask(ada, ben, { title: word('title'), instructions: word('instructions') })
  const first = heldBy(await act(ben, id, 'claim'))
  await act(ben, id, 'progress', { ...first, note: word('note') })
  await act(ben, id, 'release', { ...first, reason: word('release') })
  const second = heldBy(await act(ben, id, 'claim'))
  await act(ada, id, 'cancel', { reason: word('cancel') })
  await act(ada, id, 'cancel', { reason: word('again') })
  await act(ben, id, 'fail', { ...second, reason: word('fail'), evidence })
  const declined = await createTask(ada, ben)
  await act(ben, declined.id, 'decline', { reason: word('decline') })
  const withdrawn = await createTask(ada, ben)
  await act(ada, withdrawn.id, 'cancel', { reason: word('withdraw') })

  const reasons = async (of: string) => {
    const { entries } = await ada.ok<TaskTimeline>({ target: `/api/v1/tasks/${of}/timeline` })
    return entries.flatMap(({ event, reason }) => (reason === null ? [] : [`${event}: ${reason}`]))
  }
  expect(await reasons(id)).toEqual([
    'released: hush-release',
    'cancel_requested: hush-cancel',
    'failed: hush-fail',
  ])
  expect(await reasons(declined.id)).toEqual(['declined: hush-decline'])
  expect(await reasons(withdrawn.id)).toEqual(['cancelled: hush-withdraw'])
  const target = `/api/admin/projects/${project.id}/audit?order=newest_first&limit=100`
  const records = JSON.stringify(await owner.ok({ target }))
  expect(records).toContain(withdrawn.id)
  expect(records).not.toContain('hush-')
})

test('lists are filtered by role and state, paged, and show a task to its two sides only', async () => {
  const { ada } = bridge
  const given: string[] = []
  for (let count = 0; count < 3; count += 1) given.push((await createTask(ada, dan)).id)
  const back = await createTask(dan, ada)
  await act(dan, given[0] ?? '', 'claim')
  const ids = async (query: string) => (await listTasks(dan, query)).tasks.map(({ id }) => id)
  expect(await ids('')).toEqual([...given, back.id])
  expect(await ids('?role=creator')).toEqual([back.id])
  expect(await ids('?role=assignee&state=open')).toEqual(given.slice(1))
  const page = await listTasks(dan, '?limit=2')
  expect(page).toMatchObject({ has_more: true, next_after: given[1] })
  expect(await ids(`?limit=2&after=${page.next_after}`)).toEqual([given[2], back.id])
  expect((await listTasks(bridge.ben)).tasks.map(({ id }) => id)).not.toContain(back.id)
  expect(codeOf(await bridge.ben.call({ target: `/api/v1/tasks/${back.id}` }))).toBe('not_found')
  expect(codeOf(await ask(bridge.ben, back.id, 'claim'))).toBe('not_found')
})

test('a list waits for its first task and is answered immediately if there is one', async () => {
  const { ada } = bridge
  for (const task of (await listTasks(dan, '?state=open&role=assignee')).tasks)
    await act(dan, task.id, 'decline')
  const work = listTasks(dan, '?state=open&role=assignee&wait_seconds=20')
  const { id } = await createTask(ada, dan)
  expect((await work).tasks.map((task) => task.id)).toEqual([id])
  const held = heldBy(await act(dan, id, 'claim'))
  const word = listTasks(dan, '?state=cancel_requested&role=assignee&wait_seconds=20')
  await act(ada, id, 'cancel')
  expect((await word).tasks.map((task) => task.id)).toEqual([id])
  await act(dan, id, 'stopped', held)
})
