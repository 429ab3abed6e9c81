/**
 * A runner that is killed at each of its steps: while it waits, just after its claim, while its command works, and when it
 * reports. Whatever the moment, the task is open again after its lease, is finished by the next runner, and ends once.
 *
 * BRIDGE_KILLS=50 goes round that often.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Enrolled, enrolled } from '../cli/people.ts'
import { type Started, TestHome } from '../cli/program.ts'
import { createTask, getTask, timelineOf } from '../server/tasks/people.ts'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from './chance.ts'

const rounds = Math.ceil(Number(process.env.BRIDGE_KILLS ?? 1))

let bridge: TestBridge
let home: TestHome
let runner: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  home = await TestHome.make()
  runner = await enrolled(bridge, home, 'runner')
  await runner.bridge('session', 'start')
}, 60_000)

afterAll(async () => {
  await home.remove()
  await bridge.close()
})

const file = (name: string) => join(home.folder, name)
const command = () => `echo $$ > '${file('pid')}'; echo begun; sleep 0.2; echo done; touch '${file('over')}'`
const start = () => home.start(['task', 'run', '--exec', command(), '--once', '--profile', 'runner'])

const given = () =>
  createTask(bridge.ada, { id: runner.id } as TestAgent, { claim_ttl_seconds: 30, max_attempts: 20 })

async function untilThere(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setTimeout(resolve, 1))
}

/** Until when a runner lives. */
const steps: Readonly<Record<string, (started: Started) => Promise<unknown>>> = {
  'it has claimed': (started) => started.said(/claimed/),
  'its command works': (started) => started.said(/begun/),
  'its command has ended': () => untilThere(file('over')),
}

/** Nobody is left to stop it. */
function stopCommand(): void {
  if (!existsSync(file('pid'))) return
  try {
    process.kill(-Number(readFileSync(file('pid'), 'utf8')), 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
  rmSync(file('pid'))
}

const chance = chanceFrom(rounds)

test.each(Object.keys(steps))(
  'a runner that is killed when %s loses nothing',
  { timeout: 60_000 * rounds },
  async (step) => {
    for (let round = 0; round < rounds; round += 1) {
      rmSync(file('over'), { force: true })
      const { id } = await given()
      const killed = start()
      await steps[step]?.(killed)
      if (rounds > 1) await new Promise((resolve) => setTimeout(resolve, chance() * 30))
      killed.child.kill('SIGKILL')
      stopCommand()
      await killed.ended
      bridge.clock.advance(31)
      const left = await getTask(bridge.ada, id)
      expect(left.claim).toBeNull()
      // What was reported before the kill is done; else the next one does it.
      if (left.state !== 'completed') {
        expect(left.state).toBe('open')
        expect((await start().ended).code).toBe(0)
      }
      expect(await getTask(bridge.ada, id)).toMatchObject({
        state: 'completed',
        outcome: { result: 'begun\ndone' },
      })
      expect((await timelineOf(bridge.ada, id)).filter((event) => event === 'completed')).toHaveLength(1)
    }
  },
)

test('a runner that is killed while it waits holds nothing', { timeout: 60_000 }, async () => {
  const waiting = start()
  await expect
    .poll(() => bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}/agents/${runner.id}` }))
    .toMatchObject({
      connection: { connected: true },
    })
  waiting.child.kill('SIGKILL')
  await waiting.ended
  const { id } = await given()
  expect((await start().ended).code).toBe(0)
  expect(await timelineOf(bridge.ada, id)).toEqual(
    expect.arrayContaining(['created', 'claimed', 'completed']),
  )
})
