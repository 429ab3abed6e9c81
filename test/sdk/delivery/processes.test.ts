/**
 * Agents in separate processes: a takeover moves the agent from one to the other, and each loads only the
 * modules that it needs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { IdentityRecord } from '../../../sdk/index.ts'
import { exportPrivateKey } from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import type { ListenerArguments, ListenerLine } from './listener-process.ts'

const entry = fileURLToPath(new URL('./listener-process.ts', import.meta.url))

let bridge: TestBridge
const children: ChildProcess[] = []
beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

class Listener {
  readonly lines: ListenerLine[] = []
  readonly exit: Promise<number | null>
  #errors = ''
  #wake = Promise.withResolvers<void>()

  constructor(agent: TestAgent, options: Partial<ListenerArguments> = {}) {
    const args: ListenerArguments = {
      baseUrl: agent.baseUrl,
      identity: agent.enrolled as unknown as IdentityRecord,
      privateKey: exportPrivateKey(agent.keys.privateKey),
      instanceId: randomUUID(),
      ...options,
    }
    const child = spawn(process.execPath, [entry, JSON.stringify(args)], { stdio: 'pipe' })
    children.push(child)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
    createInterface(child.stdout).on('line', (line) => {
      this.lines.push(JSON.parse(line) as ListenerLine)
      this.#told()
    })
    this.exit = once(child, 'close').then(([code]) => code as number | null)
  }

  /** Waits for the first line with this name and returns its value. */
  async line<T>(name: string): Promise<T> {
    for (let isOver = false; ; ) {
      const found = this.lines.find((line) => name in line) as Record<string, T> | undefined
      if (found !== undefined) return found[name] as T
      if (isOver) throw new Error(`no ${name}: ${JSON.stringify(this.lines)} ${this.#errors}`)
      isOver = await Promise.race([this.#wake.promise.then(() => false), this.exit.then(() => true)])
    }
  }

  #told(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }
}

/** Returns an enrolled agent without a session. */
async function someone(name: string): Promise<TestAgent> {
  const agent = await bridge.agent(name)
  await agent.ok({ target: '/api/v1/sessions/current/close', body: {}, key: null })
  return agent
}

const tell = (agent: TestAgent, text: string) => bridge.owner.message(bridge.project.id, agent.id, text)
const takeOver = (agent: TestAgent) =>
  bridge.owner.ok<{ grant: string; fenced_session_id: string; generation: number }>({
    target: `/api/admin/projects/${bridge.project.id}/agents/${agent.id}/takeover`,
    body: {},
  })

test('a takeover ends the first process, and only the process with the grant continues with all messages', async () => {
  const agent = await someone('taken')
  const first = new Listener(agent)
  await first.line('open')
  await tell(agent, 'to both')
  expect(await first.line('body')).toBe('to both')

  const uninvited = new Listener(agent)
  expect(await uninvited.line('ended')).toBe('session_active')

  const { grant } = await takeOver(agent)
  expect(await first.line('ended')).toBe('session_fenced')
  expect(await first.exit).toBe(0)

  const without = new Listener(agent)
  expect(await without.line('ended')).toBe('takeover_pending')

  const second = new Listener(agent, { takeoverGrant: grant })
  expect(await second.line('started')).toBe((await first.line<number>('started')) + 1)
  expect(await second.line('body')).toBe('to both')

  const again = new Listener(agent, { takeoverGrant: grant })
  expect(await again.line('ended')).toBe('grant_invalid')
})

describe('a process loads no more than its transport needs', () => {
  test.each([
    ['long-poll', ['typebox', 'undici']],
    ['sse', ['eventsource', 'eventsource-parser', 'typebox', 'undici']],
    ['socket', ['typebox', 'undici', 'ws']],
  ] as const)('%s: %j', async (transport, packages) => {
    const agent = await someone(`light-${transport}`)
    const listener = new Listener(agent, { transports: [transport] })
    await listener.line('started')
    await tell(agent, 'so that a poll ends')
    await listener.line('body')
    expect(await listener.line('packages')).toEqual(packages)
  })
})
