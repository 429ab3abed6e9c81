/** Real processes that are cut off while they print: killed in the middle, or with nowhere to write to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Message } from '../../sdk/index.ts'
import { chanceFrom } from '../faults/chance.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { compileCache, program } from '../support/program.ts'
import { Desk } from './desk.ts'
import { type Enrolled, enrolled, storedId } from './people.ts'

let bridge: TestBridge
let desk: Desk
let cleo: Enrolled
let dan: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  cleo = await enrolled(bridge, desk, 'cleo')
  dan = await enrolled(bridge, desk, 'dan')
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

/** The program with this as standard output. */
function startWith(stdout: 'pipe' | number, ...args: string[]) {
  const { PATH = '' } = process.env
  return spawn(process.execPath, [program, ...args], {
    env: { PATH, HOME: desk.folder, BRIDGE_HOME: desk.home, NODE_COMPILE_CACHE: compileCache },
    stdio: ['ignore', stdout, 'pipe'],
  })
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

test('kill -9 between journal and print: what was not printed is printed by the next listen', async () => {
  const body = 'x'.repeat(60_000)
  const ids: string[] = []
  for (let count = 0; count < 8; count += 1) ids.push(storedId(await cleo.bridge('send', 'dan', body)))

  // Nobody reads: once the pipe is full, it stands between two messages of the page that it has recorded.
  const listening = startWith('pipe', 'listen', '--json', '--profile', 'dan')
  const recorded = (lines: Line[]) =>
    lines.flatMap(({ message }) => (message === undefined ? [] : message.id))
  await expect.poll(async () => recorded(await journalOf(dan)), { timeout: 20_000 }).toEqual(ids)
  await expect
    .poll(async () => (await journalOf(dan)).length, { timeout: 20_000 })
    .toBeGreaterThan(ids.length)
  listening.kill('SIGKILL')
  let written = ''
  listening.stdout?.setEncoding('utf8').on('data', (text: string) => {
    written += text
  })
  await once(listening, 'close')

  const noted = (await journalOf(dan))
    .filter(({ kind }) => kind === 'printed')
    .flatMap((line) => line.ids ?? [])
  expect(noted.length).toBeLessThan(ids.length)
  // What counts as printed was handed over whole.
  expect(idsIn(written)).toEqual(expect.arrayContaining(noted))
  const next = await dan.lines<Message>('listen', '--once', '--timeout', '20')
  expect([...noted, ...next.map(({ id }) => id)]).toEqual(ids)
  expect(next.every((message) => message.body === body)).toBe(true)
  await dan.bridge('ack', ...ids)
})

/** `BRIDGE_KILLS=200` for the long form. */
const kills = Number(process.env.BRIDGE_KILLS ?? 2)

test(`${kills} kills of a listen at any moment lose no message, and double none but the one that was being printed`, async () => {
  const chance = chanceFrom(7)
  const ids: string[] = []
  const printed: string[] = []
  for (let round = 0; round < kills; round += 1) {
    const listening = startWith('pipe', 'listen', '--json', '--profile', 'dan')
    let text = ''
    const first = new Promise<void>((resolve) => {
      listening.stdout?.setEncoding('utf8').on('data', (part: string) => {
        text += part
        resolve()
      })
    })
    for (let count = 0; count < 6; count += 1)
      ids.push(storedId(await cleo.bridge('send', 'dan', `${round}`)))
    await first
    await delay(chance() * 30)
    listening.kill('SIGKILL')
    await once(listening, 'close')
    printed.push(...idsIn(text))
    // The guard against loops counts messages of one side.
    await dan.bridge('ack', ...ids.slice(-6).filter((id) => printed.includes(id)))
    bridge.clock.advance(120)
  }
  const rest = await dan.bridge('listen', '--json', '--timeout', '1')
  printed.push(...idsIn(rest.stdout))
  expect(new Set(printed)).toEqual(new Set(ids))
  expect(printed.length - ids.length).toBeLessThanOrEqual(kills)
  await dan.bridge('ack', ...ids.slice(-100))
}, 600_000)

test('with a full disk as its output listen fails and loses nothing; send tells on standard error', async () => {
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
  const sent = await onFullDisk('send', 'dan', 'to nobody', '--profile', 'cleo')
  expect(sent.code).toBe(0)
  const id = storedId({ ...sent, stdout: sent.stderr })
  expect(await onFullDisk('listen', '--once', '--timeout', '20', '--profile', 'dan')).toEqual({
    code: 1,
    stderr: 'bridge: cannot write to standard output (ENOSPC)\n',
  })
  const [heard] = await dan.lines<Message>('listen', '--once', '--timeout', '20')
  expect(heard).toMatchObject({ id, body: 'to nobody' })
})
