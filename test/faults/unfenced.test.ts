/** With the fencing check switched off the history checker must find something: else it would be blind. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Task } from '../../sdk/contract/agent/tasks.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Claimers } from './claims.ts'
import { checkHistory } from './history.ts'
import { taskRules } from './task-history.ts'

vi.mock('../../server/tasks/rules.ts', async (original) => ({
  ...(await original<object>()),
  requireClaim: () => {},
}))

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

test('a server that does not ask whose claim it is, is found out', async () => {
  const { ada, ben, clock } = bridge
  const crew = new Claimers(bridge)
  const [given] = await crew.give(1, ada, ben)
  const lost = (await crew.claim(ben, given?.id ?? '')).json as Task
  clock.advance(31)
  await crew.claim(ben, lost.id)
  expect((await crew.complete(ben, lost)).status).toBe(200)
  const objecting = checkHistory(await crew.run(ada), taskRules).map((sentence) => sentence.split(':')[0])
  expect(objecting).toEqual(['lostClaimsDoNothing', 'outcomesAreSetOnce'])
})
