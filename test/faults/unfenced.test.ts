/** With the fencing check switched off the history checker must find something: else it would be blind. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Task } from '../../sdk/contract/agent/tasks.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from './lab/chance.ts'
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

/** Which rules object to one task of many. */
async function objecting(crew: Claimers, id: string): Promise<Set<string>> {
  const run = await crew.run(bridge.ada)
  const tasks: readonly StoredTask[] = run.tasks?.filter((task) => task.id === id) ?? []
  const rules = taskRules.filter(({ name }) => name !== 'tasksAndMessagesAreThereTogether')
  return named(checkHistory({ ...run, tasks }, rules))
}

test.each(holderOps)('%s by a claim that was lost is found out', async (op) => {
  const { ada, ben, clock } = bridge
  const crew = new Claimers(bridge)
  const [given] = await crew.give(1, ada, ben)
  const lost = (await crew.claim(ben, given?.id ?? '')).json as Task
  clock.advance(31)
  await crew.claim(ben, lost.id)
  // Only a stop that was asked for is confirmed.
  if (op === 'task.stopped') await crew.cancel(ada, lost.id)
  expect((await crew.hold(ben, op, lost)).status).toBe(200)
  expect(await objecting(crew, lost.id)).toContain('lostClaimsDoNothing')
})

test('a claim that a new session speaks for is found out', async () => {
  const { ada, ben, owner, project } = bridge
  const crew = new Claimers(bridge)
  const [given] = await crew.give(1, ada, ben)
  const task = (await crew.claim(ben, given?.id ?? '')).json as Task
  const { grant } = await owner.takeover(project.id, ben.id)
  await ben.startSession(crypto.randomUUID(), { takeover_grant: grant })
  expect((await crew.hold(ben, 'task.complete', task)).status).toBe(200)
  expect(await objecting(crew, task.id)).toEqual(new Set(['claimsStayInTheirSession']))
})

test('a race with the end of a lease is found out', async () => {
  const [expiry] = rivals
  if (expiry === undefined) throw new Error('there is no such race')
  const its = await newRace(bridge, expiry.what, chanceFrom(1))
  let found = new Set<string>()
  // Who comes first is chance: as many rounds as it takes.
  for (let round = 0; round < 50 && found.size === 0; round += 1) {
    await race(its, expiry, 3)
    found = named(checkHistory(await its.crew.run(its.creator), taskRules))
  }
  expect([...found]).not.toEqual([])
})
