/** The claim of a task: its expiry, and the session generation to which it belongs. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import {
  act,
  ask,
  codeOf,
  createTask,
  evidence,
  getTask,
  heldBy,
  listTasks,
  timelineOf,
  toldOf,
} from '../../support/tasks.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

test('a task whose claim expired is open for another claim, and both sides are notified', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben, { claim_ttl_seconds: 30 })
  const lost = heldBy(await act(ben, id, 'claim'))
  bridge.clock.advance(31)
  // The expiry is not stored yet, but no read shows the task as held.
  expect(await getTask(ben, id)).toMatchObject({ state: 'open', claim: null })
  const { tasks } = await listTasks(ben, '?state=open&role=assignee&limit=100')
  expect(tasks.map((task) => task.id)).toContain(id)
  for (const verb of ['renew', 'progress', 'fail', 'release', 'complete', 'stopped']) {
    const body = { fail: { reason: 'x' }, release: { reason: 'x' }, complete: { result: 'x', evidence } }[
      verb
    ]
    expect([verb, codeOf(await ask(ben, id, verb, { ...lost, ...body }))]).toEqual([verb, 'claim_lost'])
  }
  expect(await timelineOf(ada, id)).toEqual(['created', 'claimed', 'expired'])
  expect((await toldOf(ada, id)).at(-1)).toBe('the claim expired, the task is open again')
  expect((await toldOf(ben, id)).at(-1)).toBe('the claim expired, the task is open again')
  expect(await act(ben, id, 'claim')).toMatchObject({ attempts: 2, claim: { generation: 2 } })
})

test('the last expired claim fails the task, and a task with a requested stop is cancelled without a confirmation', async () => {
  const { ada, ben } = bridge
  const last = await createTask(ada, ben, { claim_ttl_seconds: 30, max_attempts: 1 })
  await act(ben, last.id, 'claim')
  const stopping = await createTask(ada, ben, { claim_ttl_seconds: 30 })
  const held = heldBy(await act(ben, stopping.id, 'claim'))
  await act(ada, stopping.id, 'cancel')
  bridge.clock.advance(31)
  expect(await getTask(ada, last.id)).toMatchObject({
    state: 'failed',
    outcome: { kind: 'attempts_exhausted' },
  })
  const over = await getTask(ada, stopping.id)
  expect(over).toMatchObject({ state: 'cancelled', cancellation: { stop_confirmed_at: null } })
  const late = await act(ben, stopping.id, 'stopped', held)
  expect(late.cancellation?.stop_confirmed_at).not.toBeNull()
  expect(codeOf(await ask(ben, stopping.id, 'complete', { ...held, result: 'x', evidence }))).toBe(
    'claim_lost',
  )
})

test('a list stores every expired claim of its project, however many there are', async () => {
  const { ada } = bridge
  const eve = await bridge.agent('eve')
  const count = 60
  const given = await Promise.all(
    Array.from({ length: count }, () => createTask(ada, eve, { claim_ttl_seconds: 30 })),
  )
  await Promise.all(given.map(({ id }) => act(eve, id, 'claim')))
  bridge.clock.advance(31)
  const { tasks } = await listTasks(eve, '?state=open&role=assignee&limit=100')
  expect(tasks).toHaveLength(count)
})

test('the claim of a closed session stays until it expires, and no other session may claim earlier', async () => {
  const { ada } = bridge
  const fay = await bridge.agent('fay')
  const { id } = await createTask(ada, fay, { claim_ttl_seconds: 30 })
  const held = heldBy(await act(fay, id, 'claim'))
  await fay.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  expect(await getTask(ada, id)).toMatchObject({ state: 'claimed', claim: { session_generation: 1 } })
  await fay.startSession()
  expect(codeOf(await ask(fay, id, 'renew', held))).toBe('claim_lost')
  expect(codeOf(await ask(fay, id, 'claim'))).toBe('claim_held')
  bridge.clock.advance(31)
  expect(await act(fay, id, 'claim')).toMatchObject({ claim: { generation: 2, session_generation: 2 } })
})

test('a claim belongs to a session generation: a resumed session keeps it, a new one does not', async () => {
  const { ada } = bridge
  const cy = await bridge.agent('cy')
  const { id } = await createTask(ada, cy, { claim_ttl_seconds: 300 })
  const held = heldBy(await act(cy, id, 'claim'))
  await cy.startSession()
  expect(await act(cy, id, 'renew', held)).toMatchObject({ state: 'claimed' })
  // The claim keeps the session alive, so another instance must wait although the last contact is too old.
  bridge.clock.advance(200)
  expect(codeOf(await cy.requestSession(crypto.randomUUID()))).toBe('session_active')
  const { grant } = await bridge.owner.takeover(bridge.project.id, cy.id)
  await cy.startSession(crypto.randomUUID(), { takeover_grant: grant })
  const renewals = [held, { ...held, session_generation: 2 }]
  for (const named of renewals) expect(codeOf(await ask(cy, id, 'renew', named))).toBe('claim_lost')
  const refused = await ask(cy, id, 'claim')
  expect(codeOf(refused)).toBe('claim_held')
  const { details } = refused.json as { details: { holder: object; expires_at: string } }
  expect(details).toMatchObject({ holder: { agent_id: cy.id, session_generation: 1 } })
  bridge.clock.advance(101)
  expect(await act(cy, id, 'claim')).toMatchObject({ claim: { generation: 2, session_generation: 2 } })
  // With the claim expired and no recent contact, the session can be replaced.
  bridge.clock.advance(301)
  expect((await cy.requestSession(crypto.randomUUID())).status).toBe(200)
})
