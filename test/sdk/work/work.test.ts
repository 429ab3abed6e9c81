/**
 * A worker of the SDK against a real server: the outcome of a task for each way in which its handler ends.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Bridge, TaskHandler, WorkEvent } from '../../../sdk/index.ts'
import { TaskFailedError, WorkStoppedError } from '../../../sdk/index.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf } from '../../support/sdk-listener.ts'
import { act, createTask, getTask, listTasks, timelineOf } from '../../support/tasks.ts'

let bridge: TestBridge
let client: Bridge
/** Pauses of the worker before a renewal, which the test ends. */
let pauses: Map<number, () => void>

const thirdOfALease = 10_000
const evidence = [{ kind: 'text' as const, value: 'seen' }]
const done = { result: 'done', evidence }

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

beforeEach(async () => {
  // Tasks of an earlier test must not affect this one.
  for (const { id } of (await listTasks(bridge.ben, '?state=open&role=assignee')).tasks)
    await act(bridge.ben, id, 'decline')
  pauses = new Map()
  client = clientOf()
})

/** Renewals wait until the test releases them; every other pause is short. */
function clientOf(): Bridge {
  return bridgeOf(bridge.ben, {
    // The pause before a renewal is then exactly a third of the lease.
    monotonicMs: () => 0,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (Math.abs(ms - thirdOfALease) < 1000) pauses.set(thirdOfALease, resolve)
        else setTimeout(resolve, Math.min(ms, 20))
        signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
      }),
  })
}

const renewNow = async () => {
  await expect.poll(() => pauses.has(thirdOfALease)).toBe(true)
  pauses.get(thirdOfALease)?.()
  pauses.delete(thirdOfALease)
}

const given = () => createTask(bridge.ada, bridge.ben, { claim_ttl_seconds: 30 })

/** Works on one task. */
async function workOnce(handler: TaskHandler, signal?: AbortSignal) {
  const events: WorkEvent[] = []
  await client.tasks.work(handler, { limit: 1, signal, onEvent: (event) => events.push(event) })
  return events.map((event) => (event.type === 'ended' ? event.task.state : event.type))
}

/** Resolves when the handler has started; the handler ends when its signal is aborted. */
function begun() {
  const started = Promise.withResolvers<void>()
  const seen: unknown[] = []
  const handler: TaskHandler = ({ signal }) => {
    started.resolve()
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        seen.push(signal.reason)
        reject(signal.reason as Error)
      })
    })
  }
  return { handler, started: started.promise, seen }
}

test("tasks are taken one at a time in order, and completed with the handler's result", async () => {
  const controller = new AbortController()
  const worked: string[] = []
  let atOnce = 0
  const working = client.tasks.work(
    async ({ task, progress }) => {
      atOnce += 1
      expect(atOnce).toBe(1)
      await progress({ note: 'begun', percent: 10 })
      worked.push(task.id)
      atOnce -= 1
      return { result: `did ${task.title}`, evidence }
    },
    { signal: controller.signal },
  )
  const made = [await given(), await given(), await given()]
  await expect
    .poll(async () => (await listTasks(bridge.ben, '?state=open&role=assignee')).tasks.length)
    .toBe(0)
  await expect.poll(() => worked).toEqual(made.map(({ id }) => id))
  for (const { id } of made) {
    await expect.poll(async () => (await getTask(bridge.ada, id)).state).toBe('completed')
    expect(await getTask(bridge.ada, id)).toMatchObject({
      progress: { note: 'begun', percent: 10 },
      outcome: { result: 'did Count', evidence },
    })
  }
  controller.abort()
  expect(await working).toEqual({ claimed: 3 })
})

test('a handler that throws fails or releases its task, and never completes it', async () => {
  const failing = await given()
  expect(
    await workOnce(async () => {
      throw new Error('no such file')
    }),
  ).toEqual(['claimed', 'failed'])
  expect((await getTask(bridge.ada, failing.id)).outcome).toMatchObject({
    kind: 'failed',
    result: 'no such file',
  })
  const retried = await given()
  const events = await workOnce(async () => {
    throw new TaskFailedError('try again', { again: true })
  })
  expect(events).toEqual(['claimed', 'open'])
  expect((await getTask(bridge.ada, retried.id)).attempts).toBe(1)
})

test('a report that the node refuses fails its task, and the worker goes on', async () => {
  const ids = [(await given()).id, (await given()).id, (await given()).id, (await given()).id]
  const results = ['half of \ud83d', '\x01'.repeat(60_000), 'x'.repeat(65 * 1024), 'done']
  const ends: WorkEvent[] = []
  const handler: TaskHandler = async ({ task }) => ({ result: results[ids.indexOf(task.id)] ?? '', evidence })
  await client.tasks.work(handler, {
    limit: ids.length,
    onEvent: (event) => void (event.type === 'ended' && ends.push(event)),
  })
  expect(ends.map((event) => event.type === 'ended' && event.task.outcome)).toMatchObject([
    {
      kind: 'failed',
      result: expect.stringMatching(/^the node refused the report of the work: .*invalid_request/),
    },
    {
      kind: 'failed',
      result: expect.stringMatching(/^the node refused the report of the work: .*body_too_large/),
    },
    {
      kind: 'failed',
      result: expect.stringMatching(/^the node refused the report of the work: .*invalid_request/),
    },
    { kind: 'completed', result: 'done' },
  ])
  const failing = await given()
  expect(await workOnce(() => Promise.reject(new Error('half of \ud83d')))).toEqual(['claimed', 'failed'])
  expect((await getTask(bridge.ada, failing.id)).outcome?.result).toBe('half of \ufffd')
})

test('a cancellation stops the handler immediately, and is confirmed once it has ended', async () => {
  const { id } = await given()
  const { handler, started, seen } = begun()
  const working = workOnce(handler)
  await started
  await act(bridge.ada, id, 'cancel')
  expect(await working).toEqual(['claimed', 'stopping', 'cancelled'])
  expect(seen).toEqual([new WorkStoppedError('cancelled')])
  expect((await getTask(bridge.ada, id)).cancellation?.stop_confirmed_at).not.toBeNull()
})

test('a claim is renewed at a third of its lease, and a lost claim stops the handler without a report', async () => {
  const { id } = await given()
  const { handler, started, seen } = begun()
  const working = workOnce(handler)
  await started
  bridge.clock.advance(10)
  await renewNow()
  await expect.poll(() => timelineOf(bridge.ada, id)).toEqual(['created', 'claimed', 'renewed'])
  bridge.clock.advance(31)
  await renewNow()
  expect(await working).toEqual(['claimed', 'stopping', 'lost'])
  expect(seen).toEqual([new WorkStoppedError('claim_lost')])
  await listTasks(bridge.ben)
  expect(await timelineOf(bridge.ada, id)).toEqual(['created', 'claimed', 'renewed', 'expired'])
})

test('a result that arrives after the claim was lost is ignored', async () => {
  const { id } = await given()
  const events = await workOnce(async () => {
    bridge.clock.advance(31)
    return done
  })
  expect(events).toEqual(['claimed', 'lost'])
  expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'open', outcome: null })
})

test('an interrupted worker waits for its handler and releases the task', async () => {
  await given()
  const { handler, started } = begun()
  const controller = new AbortController()
  const working = workOnce(handler, controller.signal)
  await started
  controller.abort()
  expect(await working).toEqual(['claimed', 'stopping', 'open'])
})

test('a report that could not reach the node is repeated with the same key once it is reachable', async () => {
  const { id } = await given()
  let restarted: TestBridge | undefined
  const events = await workOnce(async () => {
    await bridge.server.stop()
    // The answer to the first report never arrives, because the node is stopped.
    setTimeout(async () => {
      restarted = await bridge.restart()
    }, 50)
    return done
  })
  expect(events.filter((event) => event !== 'away')).toEqual(['claimed', 'completed'])
  bridge = restarted ?? bridge
  expect(await timelineOf(bridge.ada, id)).toEqual(['created', 'claimed', 'completed'])
})

test('the messages of a finished task are acknowledged, and no other message is', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  for (const { id } of (await ben.inbox('?limit=100')).messages) await ben.acknowledge(id)
  const { id: note } = await ada.send(conversation, ben.id, 'hello')
  await given()
  await workOnce(async () => done)
  const { messages } = await ben.ok<{ messages: { id: string }[] }>({ target: '/api/v1/inbox/messages' })
  expect(messages.map(({ id }) => id)).toEqual([note])
})

test('a fenced session ends the work with its reason', async () => {
  const { owner, project, ben } = bridge
  const working = client.tasks.work(async () => done)
  await expect.poll(() => bridge.server.url).toBeTruthy()
  const { grant } = await owner.takeover(project.id, ben.id)
  await expect(working).rejects.toMatchObject({ code: 'session_fenced' })
  await ben.startSession(crypto.randomUUID(), { takeover_grant: grant })
})
