/**
 * An agent loses a claim during its work. Each task ends at most once, every loser gets `claim_lost` or the
 * state according to the contract, no request fails, and the history checker finds no fault.
 *
 * BRIDGE_TASK_RACES=200 runs each race that often, BRIDGE_SEED repeats a run that failed.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { ownerPassword } from '../support/owner.ts'
import { checkHistory } from './lab/history.ts'
import { taskRules } from './lab/task-history.ts'
import { newRace, race, rivals, wrongAnswers } from './lab/task-races.ts'

const rounds = Number(process.env.BRIDGE_TASK_RACES ?? 2)
const seed = Number(process.env.BRIDGE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const tasksAtOnce = 3

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const confirmed = () =>
  bridge.owner.ok({ target: '/api/admin/session/confirm', body: { password: ownerPassword } })

test.each(rivals)(
  `a holder's operations race with $what, ${rounds} times (seed ${seed})`,
  {
    timeout: 300_000 + rounds * 2000,
  },
  async (rival) => {
    const its = await newRace(bridge, rival.what, chanceFrom(seed))
    const answers: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      // Leases last longer than a sign-in stays confirmed.
      if (round % 10 === 0) await confirmed()
      const asked = await race(its, rival, tasksAtOnce)
      expect(wrongAnswers(rival, asked)).toEqual([])
      answers.push(...asked.map(({ reply }) => reply.status))
    }
    const run = await its.crew.run(its.creator)
    expect(run.tasks).toHaveLength(rounds * tasksAtOnce)
    expect(checkHistory(run, taskRules)).toEqual([])
    // Both sides had successes and refusals; otherwise there was no race.
    expect(new Set(answers)).toEqual(new Set([200, 409]))
  },
)
