/** The wait for the end of a task, at a real node. Contract §8, §13. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type EndedTask, type LocalError, type Task, TaskUnfinished } from '../../../sdk/index.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf } from '../../support/sdk-listener.ts'
import { act, createTask, evidence, heldBy } from '../../support/tasks.ts'
import { type Asker, askerOf, refusingAcknowledgements, unacknowledged } from './scene.ts'

let node: TestBridge
let ada: TestAgent
let ben: TestAgent
let asker: Asker
let count = 0
const undo: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  node = await startBridge()
})
afterAll(() => node.close())
beforeEach(async () => {
  count += 1
  ada = await node.agent(`ada-${count}`)
  ben = await node.agent(`ben-${count}`)
  await ada.startSession()
  asker = askerOf(ada)
  undo.push(() => asker.bridge.close())
})
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

const waits = (on = asker) => expect.poll(() => on.openLists()).toBe(1)
const codeOf = (promise: Promise<unknown>) => promise.catch((error: { code?: unknown }) => error.code)
const claim = async (task: Task) => heldBy(await act(ben, task.id, 'claim'))
const complete = async (task: Task) =>
  act(ben, task.id, 'complete', { ...(await claim(task)), result: '42', evidence })

const ends: readonly [name: string, end: (task: Task) => Promise<unknown>, seen: Partial<EndedTask>][] = [
  ['completed', complete, { state: 'completed', outcome: { kind: 'completed', result: '42' } as never }],
  [
    'failed',
    async (task) => act(ben, task.id, 'fail', { ...(await claim(task)), reason: 'no such file' }),
    { state: 'failed', outcome: { kind: 'failed', result: 'no such file' } as never },
  ],
  [
    'released once too often',
    async (task) => act(ben, task.id, 'release', { ...(await claim(task)), reason: 'no time' }),
    { state: 'failed', outcome: { kind: 'attempts_exhausted' } as never },
  ],
  [
    'declined',
    (task) => act(ben, task.id, 'decline', { reason: 'not mine' }),
    { state: 'declined', outcome: { kind: 'declined' } as never },
  ],
  [
    'cancelled by another process of its creator',
    (task) => act(ada, task.id, 'cancel', { reason: 'not needed' }),
    { state: 'cancelled', cancellation: { reason: 'not needed' } as never },
  ],
]

test.each(ends)('a task that is %s ends the wait immediately', async (_name, end, seen) => {
  const task = await createTask(ada, ben, { max_attempts: 1 })
  const ended = asker.bridge.tasks.wait(task.id, { timeout: 30_000 })
  await waits()
  const began = performance.now()
  await end(task)
  expect(await ended).toMatchObject({ id: task.id, ...seen })
  // Without a notification the list would stay open for twenty seconds.
  expect(performance.now() - began).toBeLessThan(18_000)
  // A look that takes longer than two seconds on a busy machine finds nothing.
  await expect.poll(() => asker.bridge.tasks.wait(task.id, { timeout: 0 })).toMatchObject(seen)
})

test('other mail, and messages of other tasks, are left unchanged', async () => {
  const [task, other] = [await createTask(ada, ben), await createTask(ada, ben)]
  const ended = asker.bridge.tasks.wait(task.id)
  await waits()
  await complete(other)
  await node.owner.message(node.project.id, ada.id, 'hello')
  await waits()
  const held = await claim(task)
  await act(ben, task.id, 'complete', { ...held, result: '42', evidence })
  const result = await ended
  // The type depends on the state.
  expect(result.state === 'completed' && result.outcome.result).toBe('42')
  expect((await unacknowledged(ada)).map((body) => body.split('\n').at(-1))).toEqual([
    `agent-bridge task show ${other.id}`,
    `agent-bridge task show ${other.id}`,
    'hello',
  ])
})

test('the messages of a task are acknowledged behind any number of others, or kept on request', async () => {
  const [task, left] = [await createTask(ada, ben), await createTask(ada, ben)]
  for (let nth = 0; nth < 101; nth += 1) await node.owner.message(node.project.id, ada.id, `note ${nth}`)
  await complete(task)
  await complete(left)
  await asker.bridge.tasks.wait(task.id)
  await asker.bridge.tasks.wait(left.id, { acknowledge: false })
  const bodies: string[] = []
  for await (const { body } of asker.bridge.inbox.all()) bodies.push(body)
  expect(bodies.filter((body) => body.includes(task.id))).toEqual([])
  expect(bodies.filter((body) => body.includes(left.id))).toHaveLength(2)
  expect(bodies.filter((body) => body.startsWith('note'))).toHaveLength(101)
})

test('a task that has ended is returned although the node refuses the acknowledgement for now', async () => {
  const bridge = bridgeOf(ada, { fetch: refusingAcknowledgements })
  undo.push(() => bridge.close())
  const task = await createTask(ada, ben)
  await complete(task)
  expect(await bridge.tasks.wait(task.id)).toMatchObject({ id: task.id, state: 'completed' })
  expect(await unacknowledged(ada)).not.toEqual([])
})

test('the assignee may wait too, with a credential for tasks only', async () => {
  const scoped = await enroll(
    node.url,
    await node.owner.enrollmentCode(node.project.id, ben.id, { scopes: ['tasks'] }),
    node.clock,
  )
  await scoped.startSession()
  const assignee = askerOf(scoped)
  undo.push(() => assignee.bridge.close())
  const task = await createTask(ada, ben)
  const ended = assignee.bridge.tasks.wait(task.id)
  await waits(assignee)
  await act(ada, task.id, 'cancel')
  expect(await ended).toMatchObject({ state: 'cancelled' })
})

test('a task that does not end in time is an error with its id, and an abort explains how to resume', async () => {
  const task = await createTask(ada, ben)
  const late = await asker.bridge.tasks.wait(task.id, { timeout: 50 }).catch((error: unknown) => error)
  expect(late).toBeInstanceOf(TaskUnfinished)
  expect(late).toMatchObject({
    code: 'task_unfinished',
    taskId: task.id,
    message: `task ${task.id} was not over within 50 ms; the task goes on, and bridge.tasks.wait('${task.id}') waits on`,
  })
  const stop = new AbortController()
  const aborted = asker.bridge.tasks
    .wait(task.id, { signal: stop.signal })
    .catch((error: LocalError) => error)
  await waits()
  stop.abort()
  expect(await aborted).toMatchObject({ code: 'aborted', message: expect.stringContaining(task.id) })
  await expect.poll(() => asker.openLists()).toBe(0)
  expect(await unacknowledged(ada)).toEqual([])
})

test('a wait is refused for a task that is not visible, and in a fenced session', async () => {
  const waitFor = (id: string) => asker.bridge.tasks.wait(id)
  expect(await codeOf(waitFor('01980000-0000-7000-8000-000000000000'))).toBe('not_found')
  const stranger = await node.agent(`cy-${count}`)
  const task = await createTask(ada, ben)
  const other = askerOf(stranger)
  undo.push(() => other.bridge.close())
  expect(await codeOf(other.bridge.tasks.wait(task.id))).toBe('not_found')

  const hidden = codeOf(waitFor(task.id))
  await waits()
  await node.owner.setPairing(node.project.id, [ada.id, ben.id], false)
  expect(await hidden).toBe('not_found')
  await node.owner.setPairing(node.project.id, [ada.id, ben.id], true)
  const fenced = codeOf(waitFor(task.id))
  await waits()
  await node.owner.takeover(node.project.id, ada.id)
  expect(await fenced).toBe('session_fenced')
})
