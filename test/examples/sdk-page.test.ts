/**
 * Runs every example of docs/sdk.md unchanged, as a script beside an installed package. `tsc` compiles their
 * sources.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bridge, openProfile } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { enrolled } from '../support/profiles.ts'
import { Machine } from './machine.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/sdk.md'), 'utf8')

/** The code blocks that import the package. */
const examples = [...page.matchAll(/```ts\n([^`]*?from 'agent-bridge'[\s\S]*?)\n```/g)].map(
  ([, text = '']) => text,
)

/** Returns the one example that contains these words. */
const example = (about: string): string => {
  const [found, ...others] = examples.filter((text) => text.includes(about))
  if (found === undefined || others.length > 0) throw new Error(`not one example has ${about}`)
  unread.delete(found)
  return found
}
const unread = new Set(examples)

let node: TestBridge
let desk: Desk
let machine: Machine
/** Creates tasks and asks questions. */
let gina: Bridge

beforeAll(async () => {
  node = await startBridge()
  desk = await Desk.make()
  for (const name of ['gina', 'hugo']) await enrolled(node, desk, name)
  machine = new Machine(desk.folder)
  gina = await openProfile('gina', { home: desk.home })
})

afterAll(async () => {
  await machine.close()
  await gina.close()
  await desk.remove()
  await node.close()
})

/** Starts an example in the folder of the profile hugo. */
function start(about: string) {
  const file = machine.path('script/example.ts')
  writeFileSync(file, example(about))
  return machine.start('script', ['node', 'example.ts'], { profile: 'hugo' })
}

test('the example that sends a message works', async () => {
  expect(await start('The build is green.').ended).toMatchObject({
    code: 0,
    stdout: 'stored as number 1\n',
    stderr: '',
  })
})

test('a refusal and a local failure are distinguished', async () => {
  expect(await start("'nobody'").ended).toMatchObject({
    code: 0,
    stdout: 'no answer of the node: peer_unknown\n',
    stderr: '',
  })
})

test('the example that answers a question works and acknowledges it', async () => {
  const listening = start('bridge.listen()')
  const answer = await gina.ask('hugo', 'How\u001b[2J many?', { timeout: 120_000 })
  expect(answer.body).toBe('42')
  const { code, stdout } = await listening.ended
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^gina: How.* many\?\n$/) })
  expect(stdout).not.toContain('\u001b')
  const question = await gina.messages.get(answer.in_reply_to ?? '')
  expect(question.delivery.acknowledged_at).not.toBeNull()
})

test('the example that works on a task works', async () => {
  const { recipient_agent_id: assignee } = await gina.directory.address('hugo')
  const { id } = await gina.tasks.create({
    assignee_agent_id: assignee,
    title: 'Count',
    instructions: 'one\ntwo',
  })
  expect(await start('bridge.tasks.work').ended).toMatchObject({ code: 0, stderr: '' })
  expect(await gina.tasks.get(id)).toMatchObject({
    state: 'completed',
    outcome: { result: '2 lines', evidence: [{ kind: 'text', value: 'Count' }] },
  })
})

test('the example that sends a file works', async () => {
  writeFileSync(machine.path('script/report.txt'), 'All is well.\n')
  const { code, stdout } = await start('bridge.transfers.send').ended
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^(\w+: \d+ of 13 bytes\n)+offered as [0-9a-f-]{36}\n$/),
  })
})

test('every example of the page was run', () => {
  expect(examples.length).toBeGreaterThan(0)
  expect([...unread]).toEqual([])
})

test('no line of the page is longer than 200 characters', () => {
  expect(page.split('\n').filter((line) => line.length > 200)).toEqual([])
})
