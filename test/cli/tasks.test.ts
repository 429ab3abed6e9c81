/** A task from creation to evidence with the program, and the exit code of each refusal. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Task, TaskEntry } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { ownerPassword } from '../support/owner.ts'

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
  await desk.run(['admin', 'login', '--url', bridge.url, '--name', 'olu', '--password-stdin'], {
    stdin: `${ownerPassword}\n`,
  })
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

test('a task is created, listed, claimed, renewed, reported on, completed with evidence, and shown', async () => {
  const made = await cleo(
    'task',
    'create',
    'dan',
    'Count the lines',
    'of README.md',
    '--due',
    '2h',
    '--claim-ttl',
    '60s',
  )
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const id = /^created (\S+): open\n$/.exec(made.stdout)?.[1] ?? ''
  const listed = await dan('task', 'list', '--role', 'assignee', '--state', 'open')
  expect(listed.stdout).toMatch(new RegExp(`^ID +STATE +FROM +TO +AGE +TITLE\n${id} +open +cleo +dan`, 'i'))
  const claimed = await dan('task', 'claim', id)
  expect(claimed.code).toBe(0)
  expect(claimed.stdout).toMatch(/instructions:\n\| of README\.md\n/)
  expect((await dan('task', 'renew', id)).stdout).toMatch(/^renewed \S+: claimed; claim 1 until /)
  expect((await dan('task', 'progress', id, 'half', '--percent', '50')).code).toBe(0)
  const file = join(desk.folder, 'out.txt')
  await writeFile(file, 'ninety\n')
  const evidence = ['--evidence', 'command:wc -l README.md', '--exit-code', '0', '--evidence', `file:${file}`]
  expect(await dan('task', 'complete', id, '90 lines', ...evidence)).toMatchObject({
    code: 0,
    stdout: `completed ${id}: completed\n`,
  })
  const { stdout } = await cleo('task', 'show', id)
  expect(stdout).toContain('outcome: completed, ')
  expect(stdout).toContain('| 90 lines\nevidence: command wc -l README.md (exit code 0)\n')
  expect(stdout).toMatch(/evidence: file \S+out\.txt \(sha256 [0-9a-f]{64}\)\n/)
  expect(stdout).toMatch(
    /timeline:\n {2}\S+ created by agent cleo \(then open\)\n {2}\S+ claimed by agent dan \(claim 1, then claimed\)\n {2}\S+ renewed .*\n {2}\S+ progressed .*50 %.*\n {2}\S+ completed by agent dan \(claim 1, then completed\)\n$/,
  )
  const shown = await desk.json<{ task: Task; timeline: TaskEntry[] }>([
    'task',
    'show',
    id,
    '--profile',
    'cleo',
  ])
  expect(shown.timeline.map(({ event }) => event)).toEqual([
    'created',
    'claimed',
    'renewed',
    'progressed',
    'completed',
  ])
})

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
    stderr: expect.stringContaining(`stop the work, then run bridge task stopped --profile dan ${id}\n`),
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

test('a task is declined, released, failed, cancelled and stopped', async () => {
  const declined = await created()
  expect((await dan('task', 'decline', declined, '--reason', 'not mine')).stdout).toBe(
    `declined ${declined}: declined\n`,
  )
  const other = await created()
  await dan('task', 'claim', other)
  expect((await dan('task', 'release', other, 'no time')).stdout).toBe(`released ${other}: open\n`)
  await dan('task', 'claim', other)
  expect((await dan('task', 'fail', other, 'cannot be done')).stdout).toBe(`failed ${other}: failed\n`)
  const third = await created()
  await dan('task', 'claim', third)
  expect((await cleo('task', 'cancel', third, '--reason', 'not needed')).stdout).toMatch(
    /: cancel_requested; claim 1/,
  )
  expect((await dan('task', 'renew', third)).stderr).toContain(`bridge task stopped --profile dan ${third}`)
  expect((await dan('task', 'stopped', third)).code).toBe(0)
  expect((await cleo('task', 'show', third)).stdout).toMatch(/\| not needed\nthe stop was confirmed/)
})

test('missing or invalid arguments are refused before anything is sent', async () => {
  const id = await created()
  await dan('task', 'claim', id)
  expect(await dan('task', 'complete', id, 'done')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('a result needs evidence'),
  })
  expect((await dan('task', 'complete', id, 'done', '--evidence', 'rumour:x')).code).toBe(2)
  const missing = await dan('task', 'complete', id, 'done', '--evidence', 'file:/no/such/file')
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('/no/such/file (ENOENT)') })
  expect((await dan('task', 'progress', id)).code).toBe(2)
  expect((await cleo('task', 'create', 'nobody', 'x', 'y')).code).toBe(3)
  expect((await cleo('task', 'create', 'dan', 'x', 'y', '--claim-ttl', '5s')).code).toBe(2)
  expect((await dan('task', 'complete', id, 'done', '--evidence', 'text:seen')).code).toBe(0)
})

test('the owner creates, lists, shows and cancels tasks', async () => {
  const olu = (...args: string[]) => desk.run(['admin', 'task', ...args], { clock })
  const made = await olu('create', 'dan', 'Tidy up', 'the cellar')
  const id = /^created (\S+): open\n$/.exec(made.stdout)?.[1] ?? made.stderr
  expect((await olu('list', '--state', 'open', '--agent', 'dan')).stdout).toMatch(
    new RegExp(`${id} +open +owner +dan .*Tidy up`),
  )
  expect((await olu('show', id)).stdout).toMatch(
    /from owner olu to dan[\s\S]*created by owner olu \(then open\)/,
  )
  expect((await olu('cancel', id, '--reason', 'rain')).stdout).toBe(
    `requested cancellation of ${id}: cancelled\n`,
  )
  expect((await olu('cancel', id)).code).toBe(7)
})
