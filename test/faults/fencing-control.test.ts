/** A control: with the fencing check switched off, the history checker must find a fault. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Task } from '../../sdk/contract/agent/tasks.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { Claimers } from './lab/claims.ts'
import { checkHistory } from './lab/history.ts'
import { holderOps, type StoredTask } from './lab/task-effects.ts'
import { taskRules } from './lab/task-history.ts'
import { newRace, race, rivals } from './lab/task-races.ts'

vi.mock('../../server/tasks/rules.ts', async (original) => ({
  ...(await original<object>()),
  requireClaim: () => {},
}))

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const named = (sentences: readonly string[]) =>
  new Set(sentences.map((sentence) => sentence.split(':')[0]).filter((name) => name !== undefined))

/** Returns the rules that find a fault in one task of many. */
async function objecting(crew: Claimers, id: string): Promise<Set<string>> {
  const run = await crew.run(bridge.ada)
  const tasks: readonly StoredTask[] = run.tasks?.filter((task) => task.id === id) ?? []
  const rules = taskRules.filter(({ name }) => name !== 'tasksAndMessagesAreThereTogether')
  return named(checkHistory({ ...run, tasks }, rules))
}

test.each(holderOps)('the checker detects %s by a lost claim', async (op) => {
  const { ada, ben, clock } = bridge
  const crew = new Claimers(bridge)
  const [given] = await crew.give(1, ada, ben)
  const lost = (await crew.claim(ben, given?.id ?? '')).json as Task
  clock.advance(31)
  await crew.claim(ben, lost.id)
  // A stop can be confirmed only after it was requested.
  if (op === 'task.stopped') await crew.cancel(ada, lost.id)
  expect((await crew.hold(ben, op, lost)).status).toBe(200)
  expect(await objecting(crew, lost.id)).toContain('lostClaimsDoNothing')
})

test('the checker detects a claim used by a new session', async () => {
  const { ada, ben, owner, project } = bridge
  const crew = new Claimers(bridge)
  const [given] = await crew.give(1, ada, ben)
  const task = (await crew.claim(ben, given?.id ?? '')).json as Task
  const { grant } = await owner.takeover(project.id, ben.id)
  await ben.startSession(crypto.randomUUID(), { takeover_grant: grant })
  expect((await crew.hold(ben, 'task.complete', task)).status).toBe(200)
  expect(await objecting(crew, task.id)).toEqual(new Set(['claimsStayInTheirSession']))
})

test('the checker detects a race with the end of a lease', async () => {
  const [expiry] = rivals
  if (expiry === undefined) throw new Error('there is no such race')
  const its = await newRace(bridge, expiry.what, chanceFrom(1))
  let found = new Set<string>()
  // The order is random, so the test repeats until a fault is found.
  for (let round = 0; round < 50 && found.size === 0; round += 1) {
    await race(its, expiry, 3)
    found = named(checkHistory(await its.crew.run(its.creator), taskRules))
  }
  expect([...found]).not.toEqual([])
})
