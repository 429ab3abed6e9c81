/**
 * A wait for an answer during which a participant disappears: the node, the script, or a `listen` beside it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Journal, type Message, openProfile } from '../../../sdk/program.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { type Enrolled, enrolled } from '../../support/profiles.ts'
import { askerOf, reply } from './scene.ts'

const entry = fileURLToPath(new URL('./asking-process.ts', import.meta.url))
let node: TestBridge
let desk: Desk
let ada: Enrolled
let ben: Enrolled
let count = 0
const children: ChildProcess[] = []

beforeAll(async () => {
  node = await startBridge()
  desk = await Desk.make()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await desk.remove()
  await node.close()
})
beforeEach(async () => {
  count += 1
  ada = await enrolled(node, desk, `ada-${count}`)
  ben = await enrolled(node, desk, `ben-${count}`)
})

/** Starts a script of ada, and yields its lines. */
function script(...resumed: string[]) {
  const child = spawn(process.execPath, [entry, desk.home, ada.name, ben.name, ...resumed], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  const ended = once(child, 'close').then(() => text)
  const line = async () => {
    await expect.poll(() => text).toContain('\n')
    return text.split('\n')[0] ?? ''
  }
  return { child, ended, line }
}

test('a killed script resumes its wait by the id of the question', async () => {
  const first = script()
  const question = await first.line()
  first.child.kill('SIGKILL')
  await first.ended
  await ben.bridge('reply', question, 'release-2')
  expect(await script(question).ended).toBe('release-2\n')
  expect((await ada.bridge('inbox')).stderr).toBe('no unacknowledged messages\n')
})

test('a listen of the profile leaves the answer to the script, and receives all other messages', async () => {
  const interruption = new AbortController()
  const listening = desk.run(['listen', '--ack', 'journal', '--profile', ada.name], { interruption })
  const asking = script()
  const question = await asking.line()
  await ben.bridge('send', ada.name, 'before')
  await ben.bridge('reply', question, 'release-2')
  expect(await asking.ended).toBe(`${question}\nrelease-2\n`)
  await ben.bridge('send', ada.name, 'after')
  await expect.poll(async () => (await ada.bridge('inbox')).stderr).toBe('no unacknowledged messages\n')
  interruption.abort()
  const { stdout } = await listening
  expect([...stdout.matchAll(/^\| (.*)$/gm)].map(([, body]) => body)).toEqual(['before', 'after'])
})

test('an answer that a script received is marked as shown in the journal of a listen, and nowhere else', async () => {
  const path = desk.path(ada.name, 'journal.jsonl')
  await using bridge = await openProfile(ada.name, { home: desk.home })
  const ask = async (options = {}) => {
    const asked = Promise.withResolvers<string>()
    const onAsked = ({ message }: { message: Message }) => asked.resolve(message.id)
    const answer = bridge.ask(ben.name, 'Which branch?', { timeout: 120_000, onAsked, ...options })
    await ben.bridge('reply', await asked.promise, 'release-2')
    return answer
  }
  await ask()
  expect(existsSync(path)).toBe(false)
  await ada.bridge('listen', '--once', '--timeout', '1')
  const shown = await ask()
  const left = await ask({ acknowledge: false })
  const journal = await Journal.open({ path, clock: () => new Date(), rotates: false })
  const marks = [shown, left].map(({ id }) => [journal.has(id), journal.isPrinted(id), journal.isDone(id)])
  await journal.close()
  expect(marks).toEqual([
    [true, true, true],
    [false, false, false],
  ])
})

test('the script waits for a node that restarts, and immediately gets an answer that arrived in between', async () => {
  const { ada: asker, ben: peer } = node
  const { bridge, openLists } = askerOf(asker)
  const told: (string | undefined)[] = []
  const asked = Promise.withResolvers<Message>()
  const answer = bridge.ask(peer.name, 'Which branch?', {
    timeout: 60_000,
    onAsked: ({ message }) => asked.resolve(message),
    onConnection: (away) => told.push(away && 'away'),
  })
  const question = await asked.promise
  await expect.poll(openLists).toBe(1)
  await node.server.stop()
  await expect.poll(() => told).toEqual(['away'])
  node = await node.restart()
  await reply(peer, question, 'release-2')
  expect(await answer).toMatchObject({ body: 'release-2' })
  expect(told).toEqual(['away', undefined])
  await bridge.close()
})
