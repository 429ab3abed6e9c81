/**
 * The output of `listen` and `ask`: each message is printed once, and no message is lost if the reader, the
 * disk or the process fails in between. Runs in this process, with a real server.
 */
import { appendFile, readdir, readFile, stat } from 'node:fs/promises'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Journal, type MessagePage, type Unacknowledged } from '../../sdk/program.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type Enrolled, enrolled, storedId } from '../support/profiles.ts'

let bridge: TestBridge
let desk: Desk
let cleo: Enrolled
let dan: Enrolled
let count = 0

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})
beforeEach(async () => {
  count += 1
  cleo = await enrolled(bridge, desk, `cleo-${count}`)
  dan = await enrolled(bridge, desk, `dan-${count}`)
})

/** A stream that accepts this many writes and then no more. */
class Reader extends Writable {
  readonly got: string[] = []
  readonly #takes: number
  readonly #code: string

  constructor(takes: number, code: string) {
    super({ decodeStrings: false })
    this.#takes = takes
    this.#code = code
  }

  override _write(text: string, _encoding: string, done: (error?: Error) => void): void {
    const takes = this.got.length < this.#takes
    if (takes) this.got.push(text)
    done(takes ? undefined : Object.assign(new Error('gone'), { code: this.#code }))
  }
}

const send = async (...texts: string[]) => {
  const ids: string[] = []
  for (const text of texts) ids.push(storedId(await cleo.bridge('send', '--json', dan.name, text)))
  return ids
}

const bodies = (text: string) => [...text.matchAll(/^\| (.*)$/gm)].map(([, body]) => body)
const listenOnce = ['listen', '--once', '--timeout', '20']

test.each([
  ['EPIPE', 0, ''],
  ['ENOSPC', 1, 'bridge: cannot write to standard output (ENOSPC)\n'],
])(
  'messages that could not be written for %s are printed once by the next listen',
  async (code, exit, words) => {
    const ids = await send('one', 'two', 'three')
    const reader = new Reader(1, code)
    const cut = await desk.run([...listenOnce, '--profile', dan.name], { stdout: reader })
    expect(cut).toMatchObject({ code: exit, stderr: words })
    expect(reader.got.map((text) => bodies(text))).toEqual([['one']])
    // In between, one of them is read and acknowledged by another command.
    await dan.bridge('ack', ids[1] ?? '')
    expect(bodies((await dan.bridge(...listenOnce)).stdout)).toEqual(['three'])
    expect(await dan.bridge('listen', '--once', '--timeout', '1')).toMatchObject({
      code: 4,
      stdout: '',
      stderr: `bridge: nothing came within 1 second\nhint: bridge inbox --profile ${dan.name} shows the 2 unacknowledged\n`,
    })
  },
)

test('--ack journal acknowledges no message for a closed reader', async () => {
  await send('one', 'two')
  const journal = [...listenOnce, '--ack', 'journal']
  await desk.run([...journal, '--profile', dan.name], { stdout: new Reader(1, 'EPIPE') })
  const [left] = await dan.lines<Unacknowledged>('inbox')
  expect(left?.messages.map(({ body }) => body)).toEqual(['one', 'two'])
  expect(bodies((await dan.bridge(...journal)).stdout)).toEqual(['two'])
  // A printed message is offered again, and is acknowledged without being printed twice.
  bridge.clock.advance(61)
  expect((await dan.bridge('listen', '--once', '--timeout', '1', '--ack', 'journal')).stdout).toBe('')
  expect((await dan.bridge('inbox')).stderr).toBe('no unacknowledged messages\n')
})

test('a recorded message that the node withholds meanwhile is printed before it is acknowledged', async () => {
  await send('held back')
  // A listen recorded it and was killed before it printed it.
  const [recorded] = await dan.lines<Unacknowledged>('inbox')
  const journal = await Journal.open({ path: desk.path(dan.name, 'journal.jsonl'), clock: bridge.clock })
  await journal.record(recorded?.messages ?? [])
  await journal.close()
  await setPair(false)
  expect(await dan.bridge('listen', '--timeout', '1')).toMatchObject({ code: 4, stdout: '' })
  await setPair(true)
  bridge.clock.advance(61)
  const heard = await dan.bridge('listen', '--once', '--timeout', '1', '--ack', 'journal')
  expect(bodies(heard.stdout)).toEqual(['held back'])
})

const setPair = (enabled: boolean) =>
  bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/pairings`,
    body: { agent_ids: [cleo.id, dan.id], enabled },
  })

test('a send whose output cannot be written is stored, and reports that on standard error', async () => {
  const sent = await desk.run(['send', dan.name, 'to nobody', '--profile', cleo.name], {
    stdout: new Reader(0, 'ENOSPC'),
  })
  expect(sent).toMatchObject({ code: 0, stderr: expect.stringMatching(/^stored \S+ as number 1\n/) })
  const [page] = await dan.lines<MessagePage>('history', cleo.name)
  expect(page?.messages.map(({ id }) => `stored ${id.slice(-8)}`)).toEqual([
    /^stored \S+/.exec(sent.stderr)?.[0],
  ])
})

/** Starts a command that runs until it is interrupted. */
function running(args: readonly string[]) {
  const interruption = new AbortController()
  return { interruption, ended: desk.run(args, { interruption }) }
}

/** The answer to the request of `ask` may come later than the question to its recipient. */
const untilAsked = () =>
  expect.poll(() => readdir(desk.path(cleo.name, 'asks')).catch(() => [])).not.toEqual([])

test('a listen of the same profile does not print the answer that an ask waits for', async () => {
  const listening = running(['listen', '--profile', cleo.name])
  const asking = desk.run(['ask', dan.name, 'which?', '--timeout', '120', '--profile', cleo.name])
  const question = storedMessage(await dan.bridge(...listenOnce))
  await untilAsked()
  await dan.bridge('reply', question, 'this one')
  expect(await asking).toMatchObject({ code: 0, stdout: expect.stringContaining('| this one') })
  // Its redelivery is not printed either.
  bridge.clock.advance(61)
  await dan.bridge('send', cleo.name, 'by the way')
  await expect.poll(() => journalOf(cleo)).toContain('by the way')
  listening.interruption.abort()
  expect(bodies((await listening.ended).stdout)).toEqual(['by the way'])
})

test('an interrupted ask explains how to resume, and a listen prints the answer that arrives later', async () => {
  const { interruption, ended } = running(['ask', dan.name, 'which?', '--profile', cleo.name])
  const question = storedMessage(await dan.bridge(...listenOnce))
  await untilAsked()
  interruption.abort()
  expect(await ended).toMatchObject({
    code: 130,
    stderr: expect.stringMatching(
      new RegExp(
        `\nbridge: interrupted\nhint: bridge ask --profile ${cleo.name} --resume ${question} keeps waiting; the question stays open\n$`,
      ),
    ),
  })
  await dan.bridge('reply', question, 'this one')
  expect(bodies((await cleo.bridge(...listenOnce)).stdout)).toEqual(['this one'])
})

test('an ask continues to wait across a restart of the node', async () => {
  const asking = desk.run(['ask', dan.name, 'which?', '--timeout', '60', '--profile', cleo.name])
  const question = storedMessage(await dan.bridge(...listenOnce))
  await bridge.server.stop()
  bridge = await bridge.restart()
  await dan.bridge('reply', question, 'this one')
  expect(await asking).toMatchObject({ code: 0, stdout: expect.stringContaining('| this one') })
})

test('a profile that only asks starts a new journal when the old one is full', async () => {
  const asking = desk.run(['ask', dan.name, 'which?', '--profile', cleo.name])
  const question = storedMessage(await dan.bridge(...listenOnce))
  const path = desk.path(cleo.name, 'journal.jsonl')
  await appendFile(path, `${JSON.stringify({ kind: 'done', ids: ['x'.repeat(16 * 1024 * 1024)] })}\n`)
  await dan.bridge('reply', question, 'this one')
  expect((await asking).code).toBe(0)
  expect((await stat(`${path}.old`)).size).toBeGreaterThan(16 * 1024 * 1024)
  expect((await readFile(path, 'utf8')).split('\n').at(-4)).toContain('"body":"this one"')
})

const storedMessage = ({ stdout }: { stdout: string }) => /^id (\S+),/m.exec(stdout)?.[1] ?? ''
const journalOf = ({ name }: Enrolled) => readFile(desk.path(name, 'journal.jsonl'), 'utf8').catch(() => '')
