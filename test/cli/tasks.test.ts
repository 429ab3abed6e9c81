/** Claims of a task with the program: whose they are, and when they have ended. */
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Task } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  for (const name of ['cleo', 'dan']) {
    const { id } = await bridge.owner.createAgent(bridge.project.id, name)
    const code = await bridge.owner.enrollmentCode(bridge.project.id, id)
    await desk.run(['enroll', '--url', bridge.url, '--profile', name], { stdin: `${code}\n` })
    await desk.run(['session', 'start', '--profile', name])
  }
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

const { clock } = { clock: () => bridge.clock() }
const as =
  (profile: string) =>
  (...args: string[]) =>
    desk.run([...args, '--profile', profile], { clock })
const cleo = as('cleo')
const dan = as('dan')

async function created(...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await cleo(
    'task',
    'create',
    'dan',
    'Count the lines',
    'wc -l',
    ...more,
    '--json',
  )
  expect([code, stderr]).toEqual([0, ''])
  return (JSON.parse(stdout) as Task).id
}

test('a profile acts with the claim that it made, and with no other', async () => {
  const id = await created('--claim-ttl', '30s')
  expect(await dan('task', 'renew', id)).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('this profile has no claim on task'),
  })
  await dan('task', 'claim', id)
  bridge.clock.advance(31)
  const lost = await dan('task', 'complete', id, 'x', '--evidence', 'text:x')
  expect(lost).toMatchObject({
    code: 11,
    stderr: expect.stringMatching(/the claim has ended[\s\S]*hint: stop the work/),
  })
})

test('a holder that claims again gets its claim, and another session gets the end of the claim', async () => {
  const id = await created()
  const [first, again] = [await dan('task', 'claim', id, '--json'), await dan('task', 'claim', id, '--json')]
  expect([again.code, JSON.parse(again.stdout)]).toEqual([0, JSON.parse(first.stdout)])
  const { claim } = JSON.parse(first.stdout) as Task
  const shown = await dan('task', 'claim', id)
  expect(shown).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^claim: generation 1, taken .*, expires in \d/m),
    stderr: `this profile already holds it, until ${claim?.expires_at}\n`,
  })
  // If the answer to a claim was lost, the next command recovers it.
  await rm(desk.path('dan', 'claims'), { recursive: true })
  expect((await dan('task', 'claim', id)).code).toBe(0)
  expect((await dan('task', 'renew', id)).code).toBe(0)
  expect(await cleo('task', 'claim', id)).toMatchObject({ code: 5 })

  expect((await cleo('task', 'cancel', id)).code).toBe(0)
  expect(await dan('task', 'claim', id)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(
      `stop the work, then run bridge task stopped --profile dan ${id.slice(-8)}\n`,
    ),
  })

  const other = await created()
  await dan('task', 'claim', other)
  await dan('session', 'close')
  expect(await dan('task', 'claim', other)).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringMatching(
      /^bridge: the task is claimed until 20\S+Z\nhint: another session of this agent holds it; wait/,
    ),
  })
})
