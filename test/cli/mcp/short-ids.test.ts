/** `last` and the ends of ids in the arguments of tools and in `--evidence`. Contract §12. */
import { appendFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Message, Task, Transfer } from '../../../sdk/index.ts'
import { type Enrolled, storedId } from '../../support/profiles.ts'
import { FileScene } from '../file-scene.ts'
import { McpSession } from './mcp-session.ts'

let scene: FileScene
let mcp: McpSession
let cleo: Enrolled
let dan: Enrolled

beforeAll(async () => {
  scene = await FileScene.open('cleo', 'dan')
  ;({ sender: cleo, recipient: dan } = scene)
  mcp = new McpSession(scene.desk, 'cleo', { files: scene.folder })
})
afterAll(async () => {
  expect(await mcp.close()).toBe(0)
  await scene.close()
})

const fromDan = async (text: string) => storedId(await dan.bridge('send', 'cleo', text, '--json'))
const isAcknowledged = async (id: string) => (await dan.bridge('status', id)).stdout.includes('acknowledged')
/** Makes two recorded ids of a kind with the same end. */
const twins = (kind: string, end: string): string[] => {
  const ids = ['a', 'b'].map((first) => `${first}1a202cd-0000-7000-8000-${end.padStart(12, '0')}`)
  appendFileSync(scene.desk.path('cleo', 'seen', kind), ids.map((id) => `${id} p dan\n`).join(''))
  return ids
}

test('nothing is "last" before a tool or a command has printed it', async () => {
  expect((await mcp.call('task', { action: 'show', id: 'last' })).text).toMatch(
    /^not_found \(exit code 3\): this profile has not printed a task yet/,
  )
})

test('messages: a tool takes "last" and the ends of ids that a tool printed', async () => {
  const [first, second] = [await fromDan('first'), await fromDan('second')]
  expect((await mcp.call('inbox')).text).toContain(`id ${first}, `)
  expect((await mcp.call('inbox', { after: first.slice(-8) })).text).not.toContain(`id ${first}, `)
  expect((await mcp.call('history', { message_id: first.slice(-6).toUpperCase() })).text).toContain('| first')
  expect(await mcp.call('ack', { message_ids: [first.slice(-8), second] })).toMatchObject({ isError: false })
  expect([await isAcknowledged(first), await isAcknowledged(second)]).toEqual([true, true])

  const third = await fromDan('third')
  await mcp.call('inbox')
  await mcp.call('send', { to: dan.id.slice(-8), text: 'mine is no answer to itself' })
  expect(await mcp.call('reply', { message_id: 'last', text: 'yes', ack: true })).toMatchObject({
    isError: false,
  })
  expect(await isAcknowledged(third)).toBe(true)
  // A command of the profile takes what a tool printed.
  expect((await cleo.lines<Message>('status', third.slice(-8)))[0]?.id).toBe(third)
})

test('tasks and files: a tool takes "last" and the ends of ids, and so does evidence', async () => {
  const [task] = await dan.lines<Task>('task', 'create', 'cleo', 'Count', 'the lines')
  await mcp.call('task', { action: 'list' })
  expect((await mcp.call('task', { action: 'claim', id: 'last' })).text).toContain('generation 1')
  await writeFile(join(scene.folder, 'out.txt'), '7')
  await mcp.call('files', { action: 'send', path: 'out.txt', to: 'dan' })
  const message = await fromDan('which file?')
  await mcp.call('inbox')
  const evidence = ['transfer:last', `message:${message.slice(-8)}`]
  expect(
    await mcp.call('task', { action: 'complete', id: task?.id.slice(-8), text: '7', evidence }),
  ).toMatchObject({ isError: false })
  const [sent] = await cleo.lines<{ transfers: Transfer[] }>('transfer', 'list')
  const [done] = await dan.lines<{ task: Task }>('task', 'show', task?.id ?? '')
  expect(done?.task.outcome).toMatchObject({
    evidence: [
      { kind: 'transfer', value: sent?.transfers[0]?.id },
      { kind: 'message', value: message },
    ],
  })
})

test('an end that two ids share is refused with both, and an unknown end or kind too', async () => {
  const [one = '', other = ''] = twins('message', 'feedc0ffee01')
  const of = (id: string) => `message ${id.slice(-12)}`
  const both = await mcp.call('ack', { message_ids: ['c0ffee01'] })
  expect(both.text).toMatch(
    /^usage \(exit code 2\): more than one id ends like this: .*\nhint: give more of the end$/,
  )
  expect([one, other].filter((id) => both.text.includes(id) || both.text.includes(of(id)))).toHaveLength(2)
  for (const [name, given] of [
    ['ack', { message_ids: ['0123456789'] }],
    ['history', { message_id: '0123456789' }],
    ['task', { action: 'show', id: '0123456789' }],
    ['files', { action: 'show', id: '0123456789' }],
  ] as const)
    expect((await mcp.call(name, given)).text).toMatch(/^not_found \(exit code 3\): .* ends like this\n/)
  const message = await fromDan('hello')
  await mcp.call('inbox')
  expect((await mcp.call('task', { action: 'show', id: message.slice(-10) })).text).toMatch(
    /^usage .* the end of the id of a message; the command takes a task/,
  )
  expect((await mcp.call('task', { action: 'show', id: 'first' })).text).toMatch(
    /^usage .*"id" must be an id \(a UUID\), at least 6 characters of its end, or "last"/,
  )
})

test('--evidence takes "last" and ends, and refuses what is no id or ambiguous before it completes', async () => {
  twins('transfer', 'feedc0ffee02')
  const [task] = await dan.lines<Task>('task', 'create', 'cleo', 'Count', 'again')
  await cleo.bridge('task', 'claim', task?.id ?? '')
  const complete = (evidence: string) =>
    cleo.bridge('task', 'complete', 'last', 'done', '--evidence', evidence)
  expect(await complete('transfer:c0ffee02')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/more than one id ends like this: transfer/),
  })
  expect(await complete('message:0123456789')).toMatchObject({ code: 3 })
  expect(await complete('message:the second one')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('It must be an id'),
  })
  const message = await fromDan('done?')
  await cleo.bridge('inbox')
  expect(await complete('message:last')).toMatchObject({ code: 0 })
  const [done] = await dan.lines<{ task: Task }>('task', 'show', task?.id ?? '')
  expect(done?.task.outcome).toMatchObject({ evidence: [{ kind: 'message', value: message }] })
})
