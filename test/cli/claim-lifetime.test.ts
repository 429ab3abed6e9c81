/** The lifetimes of claims that the help of `--claim-ttl` names are those that the node gives. Contract §8. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seconds } from '../../cli/command.ts'
import { limits, type Task } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type Enrolled, enrolled } from '../support/profiles.ts'

let bridge: TestBridge
let desk: Desk
let kim: Enrolled
let lou: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  kim = await enrolled(bridge, desk, 'kim')
  lou = await enrolled(bridge, desk, 'lou')
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

/** The durations that the help names as the default, and as the most for a claim that is renewed. */
async function named(...command: string[]) {
  const { stdout } = await desk.run([...command, '--help'])
  const text = stdout.replace(/\s+/g, ' ')
  const [, usual = ''] = /--claim-ttl .*? \(default (\w+)/.exec(text) ?? []
  const [, kept = ''] = /at most (\w+) for task run/.exec(text) ?? []
  return { usual: seconds(usual), kept }
}

test.each([[['task', 'create']], [['admin', 'task', 'create']]])('%j names them', async (command) => {
  const { usual, kept } = await named(...command)
  const [task] = await kim.lines<Task>('task', 'create', 'lou', 'Count', 'the lines')
  expect(task?.claim_ttl_seconds).toBe(usual)
  const [held] = await lou.lines<Task>('task', 'claim', task?.id ?? '')
  const { claimed_at = '', expires_at = '' } = held?.claim ?? {}
  expect(Date.parse(expires_at) - Date.parse(claimed_at)).toBeCloseTo(usual * 1000, -4)
  expect(seconds(kept)).toBe(limits.workerClaimTtlSeconds)
})
