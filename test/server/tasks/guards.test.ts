/**
 * Permissions on tasks and their timing: keys, races, pause, archive, disabled pairs, scopes, deletion, the
 * clock.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Task } from '../../../sdk/contract/agent/tasks.ts'
import type { TestAgent } from '../../support/agent.ts'
import type { Reply } from '../../support/http.ts'
import { type OpenStream, transports } from '../../support/streams.ts'
import { tamper } from '../../support/tamper.ts'
import {
  act,
  ask,
  codeOf,
  createTask,
  evidence,
  getTask,
  heldBy,
  listTasks,
  toldOf,
} from '../../support/tasks.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

async function claimed(fields: object = {}) {
  const pair = await world.pair()
  const { id } = await createTask(pair.ada, pair.ben, fields)
  const task = await act(pair.ben, id, 'claim')
  return { ...pair, pair, id, task, held: heldBy(task) }
}

const key = () => crypto.randomUUID()
const result = { result: '90', evidence }

test('a retried mutation gets the same bytes, also after the state has changed, and changes nothing more', async () => {
  const { ada, ben } = await world.pair()
  const keys = { create: key(), claim: key(), complete: key() }
  const create = () =>
    ada.call({
      target: '/api/v1/tasks',
      body: { assignee_agent_id: ben.id, title: 'Count', instructions: 'lines' },
      key: keys.create,
    })
  const created = await create()
  const { id } = created.json as Task
  const claim = () => ask(ben, id, 'claim', {}, keys.claim)
  const first = await claim()
  const held = heldBy(first.json as Task)
  const complete = () => ask(ben, id, 'complete', { ...held, ...result }, keys.complete)
  const completed = await complete()
  for (const [again, before] of [
    [await create(), created],
    [await claim(), first],
    [await complete(), completed],
  ] as const) {
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect([again.status, again.text]).toEqual([200, before.text])
  }
  // A later session gets the same bytes too.
  await ben.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await ben.startSession()
  expect((await claim()).text).toBe(first.text)
  expect((await listTasks(ada)).tasks).toHaveLength(1)
  expect(await toldOf(ada, id)).toHaveLength(2)
})

test('every retried mutation of a task gets the same bytes, whatever the current state of the task', async () => {
  const { project, ada, ben } = await world.pair()
  const asked: { again: () => Promise<Reply>; first: Reply }[] = []
  const once = async (again: () => Promise<Reply>) => {
    const first = await again()
    expect([codeOf(first), first.headers['idempotency-replayed']]).toEqual(['ok', undefined])
    asked.push({ again, first })
    return first.json as Task
  }
  const does = (by: TestAgent, id: string, verb: string, body: object = {}) => {
    const own = key()
    return once(() => ask(by, id, verb, body, own))
  }
  const taken = async () => {
    const { id } = await createTask(ada, ben)
    return { id, held: heldBy(await does(ben, id, 'claim')) }
  }

  const released = await taken()
  await does(ben, released.id, 'renew', released.held)
  await does(ben, released.id, 'progress', { ...released.held, note: 'half' })
  await does(ben, released.id, 'release', { ...released.held, reason: 'no time' })
  await does(ben, released.id, 'decline')
  const stopped = await taken()
  await does(ada, stopped.id, 'cancel')
  await does(ben, stopped.id, 'stopped', stopped.held)
  const failed = await taken()
  const own = key()
  const target = `/api/admin/projects/${project.id}/tasks/${failed.id}/cancel`
  await once(() => world.owner.call({ target, body: {}, key: own }))
  await does(ben, failed.id, 'fail', { ...failed.held, reason: 'no such file' })
  const completed = await taken()
  await does(ben, completed.id, 'complete', { ...completed.held, ...result })

  await ben.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  await ben.startSession()
  for (const { again, first } of asked) {
    const reply = await again()
    expect(reply.headers['idempotency-replayed']).toBe('true')
    expect([reply.status, reply.text]).toEqual([200, first.text])
  }
})

test('of simultaneous claims one wins, and every other gets the holder and the end of its claim', async () => {
  const { ada, ben } = await world.pair()
  const { id } = await createTask(ada, ben)
  const replies = await Promise.all(Array.from({ length: 16 }, () => ask(ben, id, 'claim')))
  const won = replies.filter(({ status }) => status === 200)
  expect(won).toHaveLength(1)
  const claim = (won[0]?.json as Task | undefined)?.claim
  for (const lost of replies.filter((reply) => reply !== won[0])) {
    expect(codeOf(lost)).toBe('claim_held')
    expect(lost.json).toMatchObject({
      details: {
        holder: { agent_id: ben.id, session_id: ben.session?.id, session_generation: 1 },
        expires_at: claim?.expires_at,
      },
    })
  }
})

test('a result that races with a cancellation ends the task once, whichever arrives first', async () => {
  for (let round = 0; round < 4; round += 1) {
    const { ada, ben, id, held } = await claimed()
    const done = () => ask(ben, id, 'complete', { ...held, ...result })
    const cancel = () => ask(ada, id, 'cancel')
    const [first, second] = round % 2 === 0 ? [done, cancel] : [cancel, done]
    const replies = await Promise.all([first(), second()])
    const task = await getTask(ada, id)
    expect(task.state).toBe('completed')
    expect(replies.map(codeOf).filter((code) => code !== 'ok' && code !== 'state_conflict')).toEqual([])
  }
})

test('after a takeover nothing of the old session is accepted, neither its id nor its generation', async () => {
  const { ada, ben, id, held, project } = await claimed()
  const { grant } = await world.owner.takeover(project.id, ben.id)
  expect(codeOf(await ask(ben, id, 'complete', { ...held, ...result }))).toBe('session_fenced')
  await ben.startSession(key(), { takeover_grant: grant })
  expect(codeOf(await ask(ben, id, 'complete', { ...held, ...result }))).toBe('claim_lost')
  const renamed = { ...held, session_generation: 2 }
  expect(codeOf(await ask(ben, id, 'complete', { ...renamed, ...result }))).toBe('claim_lost')
  expect(await getTask(ada, id)).toMatchObject({ state: 'claimed', outcome: null })
})

test('a paused project starts no new task, and held tasks can be finished', async () => {
  const { ada, ben, id, held, project } = await claimed()
  const waiting = await createTask(ada, ben)
  await world.setProject(project.id, 'paused')
  expect(codeOf(await ask(ben, waiting.id, 'claim'))).toBe('project_paused')
  expect((await act(ben, id, 'renew', held)).state).toBe('claimed')
  expect((await act(ben, id, 'progress', { ...held, percent: 10 })).progress?.percent).toBe(10)
  expect((await act(ben, id, 'complete', { ...held, ...result })).state).toBe('completed')
  expect((await act(ada, waiting.id, 'cancel')).state).toBe('cancelled')
  const target = `/api/admin/projects/${project.id}/tasks`
  const body = { assignee_agent_id: ben.id, title: 'Later', instructions: 'when it goes on' }
  const later = await world.owner.ok<Task>({ target, body, key: key() })
  expect(later).toMatchObject({ state: 'open' })
  expect(codeOf(await ask(ben, later.id, 'claim'))).toBe('project_paused')
})

test('an archived project refuses its agents, and the owner sees and cancels its tasks', async () => {
  const { ben, id, held, project } = await claimed()
  await world.setProject(project.id, 'archived')
  expect(codeOf(await ask(ben, id, 'complete', { ...held, ...result }))).toBe('project_archived')
  const target = `/api/admin/projects/${project.id}/tasks/${id}`
  expect(await world.owner.ok({ target })).toMatchObject({ state: 'claimed' })
  expect(await world.owner.ok({ target: `${target}/cancel`, body: {}, key: key() })).toMatchObject({
    task: { state: 'cancel_requested' },
  })
})

test('a disabled pair loses its tasks, but the holder may finish, and its mail is withheld', async () => {
  const { pair, ada, ben, id, held } = await claimed()
  const other = await createTask(ada, ben)
  await ben.acknowledge(...(await ben.inbox()).messages.map((message) => message.id))
  await ada.acknowledge(...(await ada.inbox()).messages.map((message) => message.id))
  await world.setPairing(pair, false)
  expect((await listTasks(ada)).tasks).toEqual([])
  expect((await listTasks(ben)).tasks.map((task) => task.id)).toEqual([id])
  expect(codeOf(await ada.call({ target: `/api/v1/tasks/${other.id}` }))).toBe('not_found')
  expect(codeOf(await ask(ben, other.id, 'claim'))).toBe('pairing_disabled')
  expect((await act(ben, id, 'complete', { ...held, ...result })).state).toBe('completed')
  expect((await ada.inbox()).messages).toEqual([])
  await world.setPairing(pair, true)
  expect(await toldOf(ada, id)).toEqual([`completed by ${ben.name}`])
  expect((await getTask(ada, id)).outcome?.result).toBe('90')
})

test.each(transports)(
  'task messages reach only credentials with that scope, over the %s',
  async (_, open) => {
    const { project, ada } = await world.pair()
    const talker = await world.agent(project.id, { scopes: ['messages'] })
    const worker = await world.agent(project.id, { scopes: ['tasks:read'] })
    const stream = listening(open, worker)
    await stream.opened
    for (const to of [talker, worker]) await createTask(ada, to)
    expect(await stream.messages(1)).toMatchObject([{ type: 'task', sender: { kind: 'system' } }])
    expect(await talker.inbox()).toMatchObject({ messages: [], waiting: 1 })
    expect(codeOf(await talker.call({ target: '/api/v1/tasks' }))).toBe('scope_missing')
    const { tasks } = await listTasks(worker)
    expect(codeOf(await ask(worker, tasks[0]?.id ?? '', 'claim'))).toBe('scope_missing')
  },
)

test.each(transports)('every change of a task is reported to the other side over the %s', async (_, open) => {
  const { project, ada, ben } = await world.pair()
  const streams = { creator: listening(open, ada), assignee: listening(open, ben) }
  await Promise.all([streams.creator.opened, streams.assignee.opened])
  const make = async (title: string) => (await createTask(ada, ben, { title, claim_ttl_seconds: 30 })).id
  const hold = async (id: string) => heldBy(await act(ben, id, 'claim'))
  const taken = async (title: string) => {
    const id = await make(title)
    return { id, held: await hold(id) }
  }

  const done = await taken('done')
  await act(ben, done.id, 'release', { ...done.held, reason: 'no time' })
  await act(ben, done.id, 'complete', { ...(await hold(done.id)), ...result })
  const failed = await taken('failed')
  await act(ben, failed.id, 'fail', { ...failed.held, reason: 'no such file' })
  await act(ben, await make('declined'), 'decline')
  await act(ada, await make('withdrawn'), 'cancel')
  const stopped = await taken('stopped')
  await act(ada, stopped.id, 'cancel')
  await act(ben, stopped.id, 'stopped', stopped.held)
  const steered = await make('steered')
  const target = `/api/admin/projects/${project.id}/tasks/${steered}/cancel`
  await world.owner.ok({ target, body: {}, key: key() })
  await taken('expired')
  world.bridge.clock.advance(31)
  await listTasks(ada)

  const told = async ({ messages }: OpenStream, count: number) =>
    (await messages(count)).map(({ body }) => body.split('\n')[0])
  const [by, to] = [ada.name, ben.name]
  expect(await told(streams.assignee, 11)).toEqual([
    `new task from ${by}: done`,
    `new task from ${by}: failed`,
    `new task from ${by}: declined`,
    `new task from ${by}: withdrawn`,
    `cancelled by ${by}: withdrawn`,
    `new task from ${by}: stopped`,
    `${by} asks to stop; confirm with agent-bridge task stopped: stopped`,
    `new task from ${by}: steered`,
    'cancelled by olu: steered',
    `new task from ${by}: expired`,
    'the claim expired, the task is open again: expired',
  ])
  expect(await told(streams.creator, 12)).toEqual([
    `claimed by ${to}, attempt 1 of 3: done`,
    `released by ${to}, the task is open: done`,
    `claimed by ${to}, attempt 2 of 3: done`,
    `completed by ${to}: done`,
    `claimed by ${to}, attempt 1 of 3: failed`,
    `failed, reported by ${to}: failed`,
    `declined by ${to}: declined`,
    `claimed by ${to}, attempt 1 of 3: stopped`,
    `cancelled, ${to} has stopped: stopped`,
    'cancelled by olu: steered',
    `claimed by ${to}, attempt 1 of 3: expired`,
    'the claim expired, the task is open again: expired',
  ])
})

/** Opens a wait that is closed with the test, also if the test fails. */
function listening(open: (agent: TestAgent) => OpenStream, agent: TestAgent): OpenStream {
  const stream = open(agent)
  onTestFinished(() => stream.close())
  return stream
}

test('a deleted project deletes its tasks, held or not', async () => {
  onTestFinished(world.bridge.clock.hold())
  const { ben, id, held, project } = await claimed({ claim_ttl_seconds: 30 })
  const { projects } = await world.owner.ok<{ projects: { id: string; name: string }[] }>({
    target: '/api/admin?limit=100',
  })
  const confirm_name = projects.find((each) => each.id === project.id)?.name
  await world.owner.ok({ target: `/api/admin/projects/${project.id}/delete`, body: { confirm_name } })
  expect((await ask(ben, id, 'renew', held)).status).not.toBe(200)
  world.bridge.clock.advance(31)
  expect(codeOf(await world.owner.call({ target: `/api/admin/projects/${project.id}/tasks/${id}` }))).toBe(
    'not_found',
  )
})

const expiryOf = async (by: TestAgent, id: string) =>
  Date.parse((await getTask(by, id)).claim?.expires_at ?? '')

test('a clock that is set an hour forward or back ends no claim early and extends none', async () => {
  const { clock } = world.bridge
  onTestFinished(clock.hold())
  for (const step of [3600, -3600]) {
    const { ada, ben, id, held } = await claimed({ claim_ttl_seconds: 30 })
    const before = await expiryOf(ada, id)
    clock.step(step)
    await ben.startSession()
    const shown = await expiryOf(ada, id)
    expect(Math.abs(shown - before - step * 1000)).toBeLessThan(1000)
    clock.advance(25)
    expect((await act(ben, id, 'progress', { ...held, percent: 50 })).state).toBe('claimed')
    clock.advance(6)
    expect((await getTask(ada, id)).state).toBe('open')
    expect(codeOf(await ask(ben, id, 'renew', held))).toBe('claim_lost')
    clock.step(-step)
  }
})

test('the step of a clock is kept across a restart, after which a claim never lasts longer than its lease', async () => {
  const other = await world.elsewhere()
  const { bridge } = other
  const { ada, ben, clock } = bridge
  const stepped = await createTask(ada, ben, { claim_ttl_seconds: 60 })
  const held = heldBy(await act(ben, stepped.id, 'claim'))
  clock.step(3600)
  expect((await getTask(ada, stepped.id)).state).toBe('claimed')
  // The server stores the step within a second of noticing it.
  const kept = () =>
    tamper(bridge.data, (database) =>
      database.prepare('SELECT wall_ms - steady_ms FROM steady_clock').pluck().get(),
    )
  await expect.poll(kept).toBeGreaterThan(3_590_000)
  const again = await bridge.restart()
  expect((await act(ben, stepped.id, 'renew', held)).state).toBe('claimed')
  await again.server.stop()
  clock.step(-7200)
  const last = await again.restart()
  expect(await getTask(ada, stepped.id)).toMatchObject({ state: 'claimed' })
  clock.advance(61)
  expect((await getTask(ada, stepped.id)).state).toBe('open')
  await last.server.stop()
})
