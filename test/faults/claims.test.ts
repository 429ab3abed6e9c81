/**
 * 64 claimers on the same tasks: each task has one winner, every other claimer gets holder and expiry, and
 * there is no 5xx. A worker that continues after it lost its claim changes nothing.
 *
 * BRIDGE_CLAIMS=200 uses 200 tasks. Reliability §3.1 F22.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Task } from '../../sdk/contract/agent/tasks.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Claimers } from './lab/claims.ts'
import { checkHistory } from './lab/history.ts'
import { taskRules } from './lab/task-history.ts'

const tasks = Number(process.env.BRIDGE_CLAIMS ?? 8)
const claimers = 64

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

test(`each of ${tasks} tasks claimed by ${claimers} claimers has one winner`, {
  timeout: 300_000 + tasks * 2000,
}, async () => {
  const { ada, ben } = bridge
  const crew = new Claimers(bridge)
  const given = await crew.give(tasks, ada, ben)
  const wins = new Map<string, Task[]>()
  const claimer = async (own: number) => {
    // Each claimer starts at another task and visits all of them, so every task is claimed by all.
    for (let step = 0; step < given.length; step += 1) {
      const { id } = given[(own + step) % given.length] as Task
      const reply = await crew.claim(ben, id)
      if (reply.status !== 200) continue
      const task = reply.json as Task
      wins.set(id, [...(wins.get(id) ?? []), task])
      await crew.complete(ben, task)
    }
  }
  await Promise.all(Array.from({ length: claimers }, (_, own) => claimer(own)))
  expect(given.map(({ id }) => wins.get(id)?.length)).toEqual(given.map(() => 1))
  expect(crew.refusals).toHaveLength(claimers * tasks - tasks)
  for (const { status, json } of crew.refusals) {
    const { error, details } = json as { error: string; details: Record<string, unknown> }
    expect(status).toBe(409)
    // A claim after the end of the task gets its state.
    if (error === 'state_conflict') expect(details).toEqual({ state: 'completed' })
    else {
      expect(error).toBe('claim_held')
      expect(details).toEqual({
        holder: { agent_id: ben.id, session_id: ben.session?.id, session_generation: 1 },
        expires_at: expect.stringMatching(/^20.*Z$/),
      })
    }
  }
  expect(crew.refusals.some(({ json }) => (json as { error: string }).error === 'claim_held')).toBe(true)
  expect(checkHistory(await crew.run(ada), taskRules)).toEqual([])
})

test('workers that continue after they lost their claims change nothing', async () => {
  const { ada, ben, clock } = bridge
  const crew = new Claimers(bridge)
  const given = await crew.give(4, ada, ben)
  const lost = await Promise.all(given.map(async ({ id }) => (await crew.claim(ben, id)).json as Task))
  clock.advance(31)
  const held = await Promise.all(given.map(async ({ id }) => (await crew.claim(ben, id)).json as Task))
  await Promise.all([...lost, ...held].map((task) => crew.complete(ben, task)))
  const run = await crew.run(ada)
  const mine = new Set(given.map(({ id }) => id))
  const own = { ...run, tasks: run.tasks?.filter(({ id }) => mine.has(id)) ?? [] }
  const rules = taskRules.filter(({ name }) => name !== 'tasksAndMessagesAreThereTogether')
  expect(checkHistory(own, rules)).toEqual([])
  expect(crew.refusals.map(({ json }) => (json as { error: string }).error)).toEqual(
    Array.from({ length: 4 }, () => 'claim_lost'),
  )
})
