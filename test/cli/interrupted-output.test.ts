/** Processes that are cut off while they print: killed in the middle, or with an output that fails. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Message } from '../../sdk/index.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { chanceFrom } from '../support/chance.ts'
import { Desk } from '../support/desk.ts'
import { type Enrolled, enrolled, storedId } from '../support/profiles.ts'
import { compileCache, program } from '../support/program.ts'

let bridge: TestBridge
let desk: Desk
let cleo: Enrolled
let dan: Enrolled

const children = new Set<ChildProcess>()

// Each test has its own node and two agents, so that unread messages and the clock do not affect the next
// test.
beforeEach(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  cleo = await enrolled(bridge, desk, 'cleo')
  dan = await enrolled(bridge, desk, 'dan')
})
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  children.clear()
  await desk.remove()
  await bridge.close()
})

/** Starts the program with this standard output. */
function startWith(stdout: 'pipe' | number, ...args: string[]) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH, HOME: desk.folder, BRIDGE_HOME: desk.home, NODE_COMPILE_CACHE: compileCache },
    stdio: ['ignore', stdout, 'pipe'],
  })
  children.add(child)
  return child
}

interface Line {
  readonly kind: string
  readonly ids?: readonly string[]
  readonly message?: Message
}

async function journalOf({ name }: Enrolled): Promise<Line[]> {
  const text = await readFile(desk.path(name, 'journal.jsonl'), 'utf8').catch(() => '')
  return text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
}

const idsIn = (text: string) => [...text.matchAll(/^\{"id":"([^"]+)".*\}$/gm)].map(([, id = '']) => id)

const notedIn = (line: Line) => (line.kind === 'printed' ? (line.ids ?? []) : [])

/** Opens both ends of a named pipe with the normal capacity, which is read only on request. */
function namedPipe(path: string) {
  execFileSync('mkfifo', [path])
  const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reading, writing: openSync(path, constants.O_WRONLY) }
}

/** Reads the available data, up to a bound. */
function readSome(pipe: number, bound = Number.POSITIVE_INFINITY): string {
  const block = Buffer.alloc(4096)
  let text = ''
  try {
    while (text.length < bound) {
      const length = readSync(pipe, block)
      if (length === 0) return text
      text += block.toString('utf8', 0, length)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
  return text
}

test('after kill -9 between journal and output, the next listen prints the unprinted message', async () => {
  const body = 'x'.repeat(60_000)
  const ids: string[] = []
  for (let count = 0; count < 8; count += 1)
    ids.push(storedId(await cleo.bridge('send', '--json', dan.name, body)))

  // Its reader takes one message only: a full pipe blocks the process while the journal has more messages
  // than were printed.
  const { reading, writing } = namedPipe(desk.path(dan.name, 'pipe'))
  const listening = startWith(writing, 'listen', '--json', '--profile', dan.name)
  closeSync(writing)
  let written = ''
  await expect
    .poll(
      async () => {
        if (!written.includes('\n')) written += readSome(reading, 4096)
        const lines = await journalOf(dan)
        const recorded = lines.filter(({ kind }) => kind === 'message').length
        const noted = lines.flatMap(notedIn).length
        return noted > 0 && recorded > noted
      },
      { interval: 5 },
    )
    .toBe(true)
  listening.kill('SIGKILL')
  await once(listening, 'close')
  written += readSome(reading)
  closeSync(reading)

  const noted = (await journalOf(dan)).flatMap(notedIn)
  expect(noted.length).toBeLessThan(ids.length)
  // A message that counts as printed was written completely.
  expect(idsIn(written)).toEqual(expect.arrayContaining(noted))
  // A message in flight that was not in the journal yet is offered again later.
  bridge.clock.advance(120)
  const next: Message[] = []
  while (noted.length + next.length < ids.length)
    next.push(...(await dan.lines<Message>('listen', '--once', '--timeout', '20')))
  expect([...noted, ...next.map(({ id }) => id)]).toEqual(ids)
  expect(next.every((message) => message.body === body)).toBe(true)
})

/** `BRIDGE_KILLS=200` for the long form. */
const kills = Number(process.env.BRIDGE_KILLS ?? 2)

test(`${kills} kills of a listen at any moment lose no message, and duplicate only the one that was being printed`, async () => {
  const chance = chanceFrom(7)
  const ids: string[] = []
  const printed: string[] = []
  for (let round = 0; round < kills; round += 1) {
    const listening = startWith('pipe', 'listen', '--json', '--profile', dan.name)
    let text = ''
    const first = new Promise<void>((resolve, reject) => {
      listening.once('exit', (code) => reject(new Error(`listen ended with ${code} before it printed`)))
      listening.stdout?.setEncoding('utf8').on('data', (part: string) => {
        text += part
        resolve()
      })
    })
    for (let count = 0; count < 6; count += 1)
      ids.push(storedId(await cleo.bridge('send', '--json', dan.name, `${round}`)))
    await first
    await delay(chance() * 30)
    listening.kill('SIGKILL')
    await once(listening, 'close')
    printed.push(...idsIn(text))
    // The loop guard counts the messages of one side.
    await dan.bridge('ack', ...ids.slice(-6).filter((id) => printed.includes(id)))
    bridge.clock.advance(120)
  }
  while (new Set(printed).size < ids.length)
    printed.push(...(await dan.lines<Message>('listen', '--once', '--timeout', '20')).map(({ id }) => id))
  expect(new Set(printed)).toEqual(new Set(ids))
  expect(printed.length - ids.length).toBeLessThanOrEqual(kills)
}, 600_000)

test('with a full disk as its output listen fails without losing a message, and send reports on standard error', async () => {
  const onFullDisk = async (...args: string[]) => {
    const full = openSync('/dev/full', 'w')
    const child = startWith(full, ...args)
    closeSync(full)
    let stderr = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    const [code] = (await once(child, 'close')) as [number]
    return { code, stderr }
  }
  const sent = await onFullDisk('send', '--json', dan.name, 'to nobody', '--profile', cleo.name)
  expect(sent.code).toBe(0)
  const id = storedId({ ...sent, stdout: sent.stderr })
  expect(await onFullDisk('listen', '--once', '--timeout', '20', '--profile', dan.name)).toEqual({
    code: 1,
    stderr: 'bridge: cannot write to standard output (ENOSPC)\n',
  })
  const [heard] = await dan.lines<Message>('listen', '--once', '--timeout', '20')
  expect(heard).toMatchObject({ id, body: 'to nobody' })
})
