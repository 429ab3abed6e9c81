/**
 * A command that is repeated with the same `--key` and the same words takes effect once and prints the first answer,
 * also if its request holds a time or a sealed text. Contract §2 "Idempotency", §12.
 */
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { asFirstUse } from '../../cli/profile/first-use.ts'
import { BridgeError, type Message, type MessagePage, type Task } from '../../sdk/index.ts'
import { OwnerMessages } from '../../sdk/resources/owner/messages.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
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
  await lou.lines('key', 'create')
  const login = ['admin', 'login', '--url', bridge.url, '--name', ownerName, '--password-stdin']
  const { code, stderr } = await desk.run(login, { stdin: `${ownerPassword}\n` })
  if (code !== 0) throw new Error(stderr)
})

afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

let passedSeconds = 0
/** Runs a command, 5 seconds after the one before. */
function later(...args: string[]) {
  passedSeconds += 5
  bridge.clock.advance(5)
  const at = passedSeconds
  return desk.run([...args, '--json'], { clock: () => new Date(Date.now() + at * 1000) })
}
const as = (profile: string, ...args: string[]) => later(...args, '--profile', profile)
let keys = 0
const newKey = () => `key-of-test-${++keys}`

/** Messages between kim and lou. */
const history = async () =>
  (await kim.lines<MessagePage>('history', 'lou', '--limit', '100'))[0]?.messages ?? []
const questionOfLou = async () => {
  const [sent] = await lou.lines<{ message: Message }>('send', 'kim', 'well?', '--type', 'question')
  return sent?.message.id ?? ''
}

test.each([
  ['send with a duration', async () => ['send', 'lou', 'hi', '--expects-reply-by', '30m']],
  ['send with a sealed text', async () => ['send', 'lou', 'secret', '--encrypt']],
  ['reply with a duration', async () => ['reply', await questionOfLou(), 'so?', '--expects-reply-by', '30m']],
  ['reply with a sealed text', async () => ['reply', await questionOfLou(), 'sealed', '--encrypt']],
  ['task create with a duration', async () => ['task', 'create', 'lou', 'Count', 'lines', '--due', '2h']],
])('%s takes effect once', async (_name, argsOf) => {
  const args = [...(await argsOf()), '--key', newKey()]
  const before = (await history()).length
  const first = await as('kim', ...args)
  const second = await as('kim', ...args)
  expect([first.code, second]).toEqual([0, expect.objectContaining({ code: 0 })])
  const answer = ({ stdout }: { readonly stdout: string }) => {
    const { recipient: _, ...rest } = JSON.parse(stdout)
    return rest
  }
  expect(answer(second)).toEqual(answer(first))
  expect((await history()).length).toBe(before + 1)
})

test('reply takes effect once, whether or not the journal has its message by then', async () => {
  const question = await questionOfLou()
  const args = ['reply', question, 'green', '--key', newKey()]
  const first = await as('kim', ...args)
  expect(first.code).toBe(0)
  const listened = await as('kim', 'listen', '--once')
  expect([listened.code, listened.stdout]).toEqual([0, expect.stringContaining(question)])
  const { code, stdout, stderr } = await as('kim', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: first.stderr })
  expect(JSON.parse(stdout).message.id).toBe(JSON.parse(first.stdout).message.id)
})

test.each([[['--expects-reply-by', '30m']], [['--encrypt']]])('ask with %j asks once', async (more) => {
  const args = ['ask', 'lou', 'which branch?', '--timeout', '0', '--key', newKey(), ...more]
  const asked = async () => /asked as (\S+),/.exec((await as('kim', ...args)).stderr)?.[1] ?? 'not asked'
  const first = await asked()
  expect(first).toMatch(/^[0-9a-f-]{36}$/)
  expect(await asked()).toBe(first)
})

test.each([
  [['admin', 'message', 'kim', 'ready?', '--type', 'question', '--reply-within', '10m']],
  [['admin', 'task', 'create', 'kim', 'Count', 'the lines', '--due', '2h']],
])('%j takes effect once', async (args) => {
  const keyed = [...args, '--key', newKey()]
  const first = await later(...keyed)
  const second = await later(...keyed)
  expect(second).toMatchObject({ code: 0, stdout: first.stdout })
  // Without the key it is another one, with a later time.
  const { stdout } = await later(...args)
  const timesOf = (text: string) => JSON.parse(text).expects_reply_by ?? JSON.parse(text).due_at
  expect(timesOf(stdout) > timesOf(first.stdout)).toBe(true)
})

test.each([
  ['complete', ['8 lines', '--evidence', 'text:counted']],
  ['fail', ['no such file']],
  ['release', ['another peer is faster']],
])('task %s acts for its claim again after the claim has ended', async (verb, more) => {
  const [task] = await lou.lines<Task>('task', 'create', 'kim', 'Count', 'the lines')
  const id = task?.id ?? ''
  await kim.lines('task', 'claim', id)
  const args = ['task', verb, id, ...more, '--key', newKey()]
  const first = await as('kim', ...args)
  expect(first.code).toBe(0)
  expect(await as('kim', ...args)).toMatchObject({ code: 0, stdout: first.stdout })
})

test('task stopped confirms again after the task has ended', async () => {
  const [task] = await lou.lines<Task>('task', 'create', 'kim', 'Count', 'the lines')
  const id = task?.id ?? ''
  await kim.lines('task', 'claim', id)
  await lou.lines('task', 'cancel', id)
  const args = ['task', 'stopped', id, '--key', newKey()]
  const first = await as('kim', ...args)
  expect(first.code).toBe(0)
  expect(await as('kim', ...args)).toMatchObject({ code: 0, stdout: first.stdout })
})

test('admin reply finds its message again after it has acknowledged it', async () => {
  const [sent] = await kim.lines<{ message: Message }>('send', 'owner', 'may I push?', '--type', 'question')
  const args = ['admin', 'reply', sent?.message.id ?? '', 'yes', '--key', newKey()]
  const first = await later(...args)
  expect(first.code).toBe(0)
  expect(await later(...args)).toMatchObject({ code: 0, stdout: first.stdout })
})

test('admin reply succeeds when the node refuses the acknowledgement for now', async () => {
  const [sent] = await kim.lines<{ message: Message }>('send', 'owner', 'and now?', '--type', 'question')
  const id = sent?.message.id ?? ''
  const body = { error: 'rate_limited', message: 'too many', request_id: 'r-1' } as const
  const refusal = new BridgeError({ method: 'POST', path: '/' }, 429, body)
  const refused = vi.spyOn(OwnerMessages.prototype, 'acknowledge').mockRejectedValue(refusal)
  onTestFinished(() => refused.mockRestore())
  const { code, stdout, stderr } = await desk.run(['admin', 'reply', id, 'yes'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('stored ')])
  expect(stderr).toMatch(/^(\S+) is not acknowledged, which bridge admin ack \1 does: .*\n$/)
  refused.mockRestore()
  expect((await desk.run(['admin', 'ack', id, '--project', 'demo'])).stdout).toBe('acknowledged 1\n')
})

test('the same key with other words is a conflict', async () => {
  const key = newKey()
  const send = (text: string, ...more: string[]) => as('kim', 'send', 'lou', text, '--key', key, ...more)
  expect((await send('one', '--encrypt')).code).toBe(0)
  for (const other of [send('two', '--encrypt'), send('one', '--encrypt', '--expects-reply-by', '30m')]) {
    const { code, stderr } = await other
    expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('idempotency_conflict') })
  }
})

test('after a refusal the time of the next attempt counts', async () => {
  const args = ['admin', 'message', 'kim', 'again', '--reply-within', '10m', '--key', newKey()]
  const state = (to: string) => desk.run(['admin', 'project', 'state', bridge.project.name, to])
  await state('archived')
  const refused = await later(...args)
  await state('paused')
  await state('active')
  expect(refused.code).not.toBe(0)
  bridge.clock.advance(600)
  passedSeconds += 600
  const { stdout } = await later(...args)
  const sent = JSON.parse(stdout) as Message
  expect(Date.parse(sent.expects_reply_by ?? '') - Date.parse(sent.created_at)).toBeGreaterThan(590_000)
})

test('a part of a request is kept for 7 days, and then removed with the others', async () => {
  let now = new Date()
  const context = {
    home: desk.home,
    settings: { profile: 'aged', json: false },
    clock: () => now,
    random: randomBytes,
    keptIds: [],
  }
  const use = (key: string, value: string) =>
    asFirstUse(context, { of: 'send', key }, (first) => first('time', () => value))
  const pass = (days: number) => {
    now = new Date(now.getTime() + days * 86_400_000)
  }
  expect([await use('one', 'a'), await use('two', 'b'), await use('one', 'c')]).toEqual(['a', 'b', 'a'])
  pass(6.9)
  expect(await use('one', 'd')).toBe('a')
  pass(0.2)
  expect(await use('one', 'e')).toBe('e')
  expect(await readdir(desk.path('aged', 'first-uses'))).toHaveLength(1)
})

test('of two processes that use a key at the same time, both send the same part', async () => {
  const context = {
    home: desk.home,
    settings: { profile: 'twice', json: false },
    clock: () => new Date(),
    random: randomBytes,
    keptIds: [],
  }
  const values = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      asFirstUse(context, { of: 'send', key: 'both-at-once' }, (first) => first('time', () => n)),
    ),
  )
  expect(new Set(values).size).toBe(1)
  expect(await readdir(desk.path('twice', 'first-uses'))).toHaveLength(1)
})
