/** The waiter's statement that there is no mail, which saves a hook its request. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { touch, touchedAt } from '../../../cli/hooks/files.ts'
import { NoMail, saysNoMail } from '../../../cli/hooks/no-mail.ts'
import { placesOf } from '../../../cli/hooks/places.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { type Enrolled, enrolled } from '../../support/profiles.ts'
import { contextOf, HookFrame } from './frame.ts'

let bridge: TestBridge
let desk: Desk
let count = 0

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
})
afterAll(async () => {
  await desk.remove()
  await bridge.close()
})

async function session(node = bridge): Promise<{ agent: Enrolled; frame: HookFrame }> {
  count += 1
  const agent = await enrolled(node, desk, `cleo${count}`)
  return { agent, frame: new HookFrame(desk.home, agent.name, { sessionId: `s${count}` }) }
}

const message = ({ id }: Enrolled) => bridge.owner.message(bridge.project.id, id, 'SECRET')

/** Starts a waiter that ends with the test. */
function stated(frame: HookFrame) {
  const ended = new AbortController()
  const end = frame.wait({ signal: ended.signal, checkMs: 10 })
  onTestFinished(async () => {
    ended.abort()
    await end
  })
  return { end, isStated: expect.poll(() => existsSync(frame.places.none)).toBe(true) }
}

/** Gives the profile an address at which no node runs: a hook that makes a request logs a failure. */
function away({ profile }: HookFrame): void {
  const path = desk.path(profile, 'profile.json')
  writeFileSync(
    path,
    JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), base_url: 'http://127.0.0.1:1' }),
  )
}

test.each([
  ['claude', 'UserPromptSubmit', 'Stop', []],
  ['opencode', 'chat.message', 'session.idle', []],
  // "codex exec" ends with its turn, so no waiter could tell it of a message that comes now.
  ['codex', 'UserPromptSubmit', 'Stop', ['Stop']],
])(
  '%s: without mail %s makes no request, and %s none that it can save',
  async (harness, prompt, stop, asking) => {
    const { frame } = await session()
    await frame.run(harness, prompt)
    const ended = new AbortController()
    const waiting = frame.run(harness, 'wait', {}, { signal: ended.signal })
    const { none } = frame.places
    await expect.poll(() => existsSync(none)).toBe(true)
    away(frame)
    const asked = async () => {
      const before = frame.log.length
      for (const event of [prompt, stop])
        expect(await frame.run(harness, event)).toEqual({ exit: 0, stdout: '', stderr: '' })
      return frame.log
        .slice(before)
        .map(({ event, outcome }) => (outcome === 'unreachable' ? event : outcome))
    }
    expect(await asked()).toEqual(asking)
    ended.abort()
    await waiting
    expect(existsSync(none)).toBe(false)
    expect(await asked()).toEqual([prompt, stop])
  },
)

test('a message withdraws the statement, and the next prompt tells of it', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'UserPromptSubmit')
  await stated(frame).isStated
  await message(agent)
  await expect.poll(() => existsSync(frame.places.none)).toBe(false)
  expect(contextOf(await frame.run('claude', 'UserPromptSubmit'))).toContain('owner 1. As of')
})

test('a message that arrives after the hook at the end of a turn wakes the session', async () => {
  const { agent, frame } = await session()
  await frame.run('claude', 'UserPromptSubmit')
  const waiting = stated(frame)
  await waiting.isStated
  away(frame)
  expect((await frame.run('claude', 'Stop')).stdout).toBe('')
  expect(frame.log).toEqual([])
  await message(agent)
  expect(await waiting.end).toBe('woke')
})

test('a running waiter repeats its statement, and an old one counts for nothing', async () => {
  const { frame } = await session()
  await stated(frame).isStated
  const { none } = frame.places
  touch(none, new Date(Date.now() - 60_000))
  await expect.poll(() => touchedAt(none)).toBeGreaterThan(Date.now() - 10_000)
  const at = (ms: number) => saysNoMail(frame.places, new Date((touchedAt(none) ?? 0) + ms))
  expect([-1, 0, 14_999, 15_000].map(at)).toEqual([false, true, true, false])
})

test('a waiter that was killed hides no message for more than 15 seconds', async () => {
  const { agent, frame } = await session()
  await message(agent)
  const { none } = frame.places
  touch(none, new Date())
  expect((await frame.run('claude', 'UserPromptSubmit')).stdout).toBe('')
  touch(none, new Date(Date.now() - 15_000))
  expect(contextOf(await frame.run('claude', 'UserPromptSubmit'))).toContain('owner 1. As of')
})

test('a node that stops ends the statement', async () => {
  const other = await startBridge()
  const { frame } = await session(other)
  try {
    await stated(frame).isStated
  } finally {
    await other.close()
  }
  await expect.poll(() => existsSync(frame.places.none)).toBe(false)
})

test('before its stream is open and on a disk that cannot be written, a waiter states nothing', async () => {
  const { frame } = await session()
  const places = frame.places
  const noMail = new NoMail(places, () => new Date())
  noMail.state()
  expect(existsSync(places.none)).toBe(false)
  const full = placesOf(join(desk.folder, 'full'), 'cleo')
  mkdirSync(join(full.folder, '..'), { recursive: true })
  writeFileSync(full.folder, '')
  const unwritable = new NoMail(full, () => new Date())
  unwritable.connected(true)
  unwritable.state()
  unwritable.withdraw()
  expect(readFileSync(full.folder, 'utf8')).toBe('')
})
