/**
 * The event stream on the wire, read by third-party clients: curl, the EventSource library, Python.
 *
 * The clock of the node stands still, and its timers run, only when a test lets seconds pass.
 *
 * Spec §6; contract §6.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EventSource } from 'eventsource'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { authenticate, openEvents, openSocket } from '../../support/streams.ts'
import { heldTime } from './held-time.ts'
import { connectionOf, listen, until } from './listeners.ts'

const { clock, pass, ...time } = heldTime()
let bridge: TestBridge

beforeAll(async () => {
  bridge = await time.start()
})
afterAll(() => time.stop(bridge))

const eventsCall = { method: 'GET', target: '/api/v1/events' } as const

/** Returns curl's arguments for a signed GET. */
const curlArguments = (agent: TestAgent, target: string): string[] => [
  ...agent.sign({ method: 'GET', target }, '').flatMap(([name, value]) => ['-H', `${name}: ${value}`]),
  `${agent.baseUrl}${target}`,
]

/** Starts a program and collects its output. */
function start(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
  })
  return {
    printed: (text: string) =>
      until(
        () => output,
        (all) => all.includes(text),
      ),
    end: () => void child.kill(),
    ended: once(child, 'close').then(([code]) => ({ output, code: code as number | null })),
  }
}

describe('over twenty seconds', () => {
  test('a stream announces its retry delay, sends a heartbeat every ten seconds, and ends', async () => {
    const agent = await bridge.agent('patient')
    const stream = await listen(bridge, agent, openEvents)
    const began = clock().getTime()
    pass(19)
    await stream.take('heartbeat')
    expect((await connectionOf(bridge, agent)).listening_now).toBe(true)
    pass(1)
    expect(await stream.ended).toBe(200)
    expect(stream.events.map(({ type, data }) => [type, data])).toEqual([
      ['heartbeat', { server_time: new Date(began + 10_000).toISOString() }],
    ])
  })

  test('a socket sends a heartbeat every ten seconds and stays open', async () => {
    const socket = await listen(bridge, await bridge.agent('steady'), openSocket)
    const began = clock().getTime()
    for (const seconds of [10, 20, 30]) {
      pass(10)
      expect(await socket.take('heartbeat')).toEqual({
        server_time: new Date(began + seconds * 1000).toISOString(),
      })
      // The client has answered the ping of the server before it sends this one.
      socket.send('{"type":"ping"}')
      await socket.take('pong')
    }
    expect(socket.socket.readyState).toBe(socket.socket.OPEN)
    socket.close()
  })

  test.each([
    ['socket', openSocket],
    ['event stream', openEvents],
  ] as const)('a half-open connection over the %s is noticed within twenty-five', async (name, open) => {
    const agent = await bridge.agent(`half-open ${name}`)
    const stream = await listen(bridge, agent, open)
    stream.pause()
    pass(18)
    expect((await connectionOf(bridge, agent)).listening_now).toBe(true)
    pass(7)
    expect((await connectionOf(bridge, agent)).listening_now).toBe(false)
    stream.close()
  })

  test('curl reads the stream as it is', async () => {
    const agent = await bridge.agent('curl')
    await bridge.owner.message(bridge.project.id, agent.id, 'first')
    const reading = start('curl', ['-sS', '-N', '-i', ...curlArguments(agent, eventsCall.target)])
    await reading.printed('"first"')
    await bridge.owner.message(bridge.project.id, agent.id, 'second')
    await reading.printed('"second"')
    pass(20)
    const { output, code } = await reading.ended
    expect(code).toBe(0)
    const [head = '', ...rest] = output.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK/)
    for (const line of [
      'content-type: text/event-stream; charset=utf-8',
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      'x-accel-buffering: no',
    ]) {
      expect(head.toLowerCase()).toContain(line)
    }
    expect(head.toLowerCase()).toMatch(/x-request-id: [a-z0-9_-]{12}/)
    expect(head.toLowerCase()).not.toContain('content-encoding')
    const body = rest.join('')
    expect(body.startsWith('retry: 250\n\n')).toBe(true)
    expect(body.match(/^event: messages$/gm)).toHaveLength(2)
    expect(body).toContain('event: heartbeat\ndata: {"server_time":')
  })

  test('the EventSource library reconnects with a fresh proof each time and misses no message', async () => {
    const agent = await bridge.agent('library')
    const heard: string[] = []
    let connections = 0
    const source = new EventSource(`${bridge.url}${eventsCall.target}`, {
      fetch: (url, init) => {
        connections += 1
        const signed = Object.fromEntries(agent.sign(eventsCall, ''))
        return fetch(url, { ...init, headers: { ...init?.headers, ...signed } })
      },
    })
    source.addEventListener('messages', ({ data }) => {
      const { messages } = JSON.parse(data) as { messages: { body: string }[] }
      heard.push(...messages.map(({ body }) => body))
    })
    await once(source as never, 'open').catch(() => undefined)
    await bridge.owner.message(bridge.project.id, agent.id, 'one')
    await until(
      () => heard.length,
      (count) => count === 1,
    )
    pass(20)
    await until(
      () => connections,
      (count) => count === 2,
    )
    await bridge.owner.message(bridge.project.id, agent.id, 'two')
    await until(
      () => heard.length,
      (count) => count >= 2,
    )
    expect(heard).toEqual(['one', 'two'])
    source.close()
  })
})

test('curl long-polls', async () => {
  const agent = await bridge.agent('poller')
  const target = '/api/v1/inbox?wait_seconds=20'
  const reading = start('curl', ['-sS', '-w', '\n%{http_code}', ...curlArguments(agent, target)])
  await until(
    () => connectionOf(bridge, agent),
    (words) => words.listening_now,
  )
  await bridge.owner.message(bridge.project.id, agent.id, 'wake up')
  const [body = '', status] = (await reading.ended).output.split('\n')
  expect(status).toBe('200')
  expect(JSON.parse(body)).toMatchObject({ messages: [{ body: 'wake up' }], waiting: 1 })
})

test('curl gets an uncompressed stream although it offers compression, and is refused with a used proof', async () => {
  const agent = await bridge.agent('compressor')
  const args = curlArguments(agent, eventsCall.target)
  const first = start('curl', ['-sS', '-N', '-i', '-H', 'Accept-Encoding: gzip, br', ...args])
  await first.printed('retry: 250')
  first.end()
  expect((await first.ended).output.toLowerCase()).not.toContain('content-encoding')
  const again = start('curl', ['-sS', '-i', ...args])
  expect((await again.ended).output).toContain('request_replayed')
})

/** Debian's own Python, because `apt-get install python3-websockets` installs for that one. */
const python = '/usr/bin/python3'

function hasPythonSockets(): boolean {
  try {
    execFileSync(python, ['-c', 'import websockets'], { stdio: 'ignore' })
    return true
  } catch {
    process.stdout.write('skipped: a socket from Python needs the Debian package python3-websockets\n')
    return false
  }
}

const pythonClient = `
import asyncio, json, sys
import websockets

async def main():
    frame = sys.stdin.readline()
    async with websockets.connect(sys.argv[1], compression="deflate") as socket:
        # Since its version 14 the protocol names them.
        agreed = (socket if hasattr(socket, "extensions") else socket.protocol).extensions
        await socket.send(frame)
        while True:
            event = json.loads(await socket.recv())
            if event["type"] == "ready":
                await socket.send(json.dumps({"type": "ping"}))
            print(json.dumps([event["type"], [m["body"] for m in event.get("messages", [])],
                              [str(e) for e in agreed]]), flush=True)

try:
    asyncio.run(main())
except websockets.exceptions.ConnectionClosed as closed:
    print(json.dumps(["closed", closed.rcvd.code if closed.rcvd else None, []]), flush=True)
`

test.skipIf(!hasPythonSockets())(
  'a socket from Python receives messages, pings, and gets the reason of the end',
  async () => {
    const agent = await bridge.agent('python')
    const child = spawn(python, ['-c', pythonClient, `${bridge.url.replace('http', 'ws')}/api/v1/socket`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    const next = async () => JSON.parse((await lines.next()).value as string) as [string, unknown, string[]]
    child.stdin.write(`${JSON.stringify(authenticate(agent))}\n`)
    expect(await next()).toEqual(['ready', [], []])
    expect((await next())[0]).toBe('pong')
    await bridge.owner.message(bridge.project.id, agent.id, 'hello, snake')
    expect(await next()).toEqual(['messages', ['hello, snake'], []])
    await bridge.owner.revoke(bridge.project.id, agent.enrolled.credential_id)
    expect((await next())[0]).toBe('error')
    expect(await next()).toEqual(['closed', 4401, []])
    child.stdin.end()
    await once(child, 'close')
  },
)
