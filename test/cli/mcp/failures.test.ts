/** `bridge mcp` while its node is stopped, silent or refuses it, and with clients that do not read. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createContext } from '../../../cli/create-context.ts'
import { callTool } from '../../../cli/mcp/call.ts'
import { toolsFor } from '../../../cli/mcp/tools.ts'
import { run } from '../../../cli/run.ts'
import type { Message } from '../../../sdk/index.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { Desk } from '../../support/desk.ts'
import { type Enrolled, enrolled } from '../../support/profiles.ts'
import { TestHome } from '../../support/test-home.ts'
import { McpSession, modern } from './mcp-session.ts'

let bridge: TestBridge
let desk: Desk
let cleo: Enrolled
let dan: Enrolled
let silent: Server
const sockets = new Set<Socket>()

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  cleo = await enrolled(bridge, desk, 'cleo')
  dan = await enrolled(bridge, desk, 'dan')
  // Starts its session, and remembers dan.
  await cleo.bridge('send', 'dan', 'hello')
  silent = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    socket.resume()
  })
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  silent.close()
  await desk.remove()
  await bridge.close()
})

const bodies = async () =>
  (await dan.lines<{ messages: Message[] }>('inbox'))[0]?.messages.map(({ body }) => body)
const kept = async () =>
  (await readdir(desk.path('cleo', 'outbox')).catch(() => [])).filter((name) => name.endsWith('.kept'))

/** Runs with the profile at a node that accepts connections and never answers. */
async function withSilentNode(act: () => Promise<void>): Promise<void> {
  const path = desk.path('cleo', 'profile.json')
  const before = await readFile(path, 'utf8')
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  await writeFile(path, JSON.stringify({ ...JSON.parse(before), base_url: url }))
  try {
    await act()
  } finally {
    await writeFile(path, before)
  }
}

const send = (id: string, text: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { _meta: modern, name: 'send', arguments: { to: 'dan', text } },
})

const connected = async (count: number) => {
  while (sockets.size < count) await once(silent, 'connection')
}

test('while the node is stopped, the outbox keeps a message, and the next change sends it', async () => {
  const mcp = new McpSession(desk, 'cleo')
  await bridge.server.stop()
  const unsent = await mcp.call('send', { to: 'dan', text: 'kept' })
  expect(unsent.isError).toBe(true)
  expect(unsent.text).toMatch(
    /^unreachable \(exit code 9\): .*\nhint: the outbox keeps it as \S+ and sends it with the next change: do not repeat the call$/,
  )
  const unread = await mcp.call('inbox')
  expect(unread).toMatchObject({ isError: true, text: expect.stringMatching(/^unreachable \(exit code 9\)/) })
  bridge = await bridge.restart()
  const sent = await mcp.call('send', { to: 'dan', text: 'after' })
  expect(sent).toMatchObject({ isError: false, text: expect.stringMatching(/sent from the outbox: \S+/) })
  expect(await bodies()).toEqual(['hello', 'kept', 'after'])
  expect(await mcp.close()).toBe(0)
})

test('a cancelled call is aborted and never answered; the outbox keeps its message', async () => {
  const mcp = new McpSession(desk, 'cleo')
  await withSilentNode(async () => {
    mcp.write(send('slow', 'cancelled'))
    await connected(1)
    mcp.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'slow' } })
    for (const socket of sockets) await once(socket, 'close')
    expect((await mcp.request('tools/list')).result).toBeDefined()
  })
  expect((await mcp.call('send', { to: 'dan', text: 'later' })).text).toMatch(/sent from the outbox/)
  expect((await bodies())?.slice(-2)).toEqual(['cancelled', 'later'])
  expect(mcp.lines.filter(({ id }) => id === 'slow')).toEqual([])
  expect(await mcp.close()).toBe(0)
})

test('at most 64 requests are in flight, each under its own id, while others are answered', async () => {
  const mcp = new McpSession(desk, 'cleo')
  await withSilentNode(async () => {
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { _meta: modern, name: 'peers', arguments: {} },
    })
    for (let id = 1; id <= 65; id += 1) mcp.write(call(id))
    expect(await mcp.line(({ id }) => id === 65)).toMatchObject({ error: { code: -32603 } })
    mcp.write(call(7))
    const refused = await mcp.line(({ error }) => error?.code === -32600)
    expect(refused).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: 'the id 7 is in use' },
    })
    expect((await mcp.request('server/discover')).result).toBeDefined()
    expect(await mcp.close()).toBe(0)
  })
  expect(mcp.lines).toHaveLength(3)
})

/** Ends with its input, after 20 ms of processor time: more than `bridge mcp` needs for its end. */
const floorEnd = `process.stdin.resume().on('end', () => {
  const used = () => process.cpuUsage().user + process.cpuUsage().system
  const until = used() + 20_000
  while (used() < until);
})
console.log('ready')`

test('the process ends within 500 ms of its standard input, also while the node does not answer', async () => {
  onTestFinished(async () => {
    await cleo.bridge('outbox', 'flush')
  })
  const floor = spawn(process.execPath, ['-e', floorEnd], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void floor.kill('SIGKILL'))
  await once(floor.stdout, 'data')
  await withSilentNode(async () => {
    const started = TestHome.at(desk.folder).start(['mcp', '--profile', 'cleo'])
    started.child.stdin.write(`${JSON.stringify(send('slow', 'left'))}\n`)
    await connected(1)
    const since = performance.now()
    const timed = (end: Promise<unknown>) => end.then(() => performance.now() - since)
    const took = Promise.all([timed(started.ended), timed(once(floor, 'close'))])
    for (const { stdin } of [floor, started.child]) stdin.end()
    const [tookMs, floorMs] = await took
    expect(await started.ended).toEqual({ code: 0, stdout: '', stderr: '' })
    // Alone, the floor takes 35 ms. On a machine that does other work, both wait for the processor.
    const waitedMs = Math.max(0, floorMs - 50)
    // Without the end, the call to the silent node takes 50 s.
    expect(tookMs - waitedMs).toBeLessThan(20_000)
  })
  expect(await kept()).toHaveLength(1)
})

test.each([
  ['a pipe', (path: string) => once(spawn('mkfifo', [path]), 'close')],
  [
    'a file that takes hours to hash',
    (path: string) => writeFile(path, '').then(() => truncate(path, 2 ** 40)),
  ],
])('the process ends with its standard input, though the evidence of a task is %s', async (_what, make) => {
  const folder = await mkdtemp(join(desk.folder, 'project-'))
  const path = join(folder, 'evidence')
  await make(path)
  const started = TestHome.at(desk.folder).start(['mcp', '--profile', 'cleo', '--files', folder])
  onTestFinished(async () => {
    started.child.kill('SIGKILL')
    await rm(folder, { recursive: true })
  })
  const evidence = ['file:evidence']
  const given = { action: 'complete', id: '01980000-0000-7000-8000-000000000001', text: 'done', evidence }
  const params = { _meta: modern, name: 'task', arguments: given }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  started.child.stdin.write(`${JSON.stringify(call)}\n`)
  // Time in which the server begins to read the file.
  await setTimeout(2000)
  started.child.stdin.end()
  const late = setTimeout(60_000, 'late', { ref: false })
  expect(await Promise.race([started.ended.then(({ code }) => code), late])).toBe(0)
})

const contextWith = (stdin: Readable, stdout: Writable) =>
  createContext({
    streams: { stdin, stdout, stderr: new PassThrough() },
    environment: { BRIDGE_HOME: desk.home },
    clock: () => new Date(),
    random: randomBytes,
    homeDirectory: desk.folder,
    interruption: new AbortController(),
  })

test('a call that does not end in time fails, and the outbox keeps its message', async () => {
  const context = contextWith(new PassThrough(), new PassThrough())
  context.configure({ profile: 'cleo' })
  const tool = toolsFor({ folder: desk.folder, home: desk.home }).find(({ names }) => names.includes('to'))
  if (tool === undefined) throw new Error('there is no tool that sends')
  await withSilentNode(async () => {
    const given = { to: 'dan', text: 'late' }
    const cancelled = new AbortController().signal
    const late = await callTool(context, { tool, given, cancelled, patienceMs: 5000 })
    expect(late.isError).toBe(true)
    expect(late.content[0]?.text).toMatch(
      /^unreachable \(exit code 9\): the call did not end within 5 seconds\nhint: the outbox keeps it as /,
    )
  })
  expect(await kept()).toHaveLength(1)
  await cleo.bridge('outbox', 'flush')
  expect((await bodies())?.at(-1)).toBe('late')
})

test('a client that does not read is not read either', async () => {
  const read: string[] = []
  const held: (() => void)[] = []
  let isReading = false
  const stdout = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      read.push(text)
      if (isReading) done()
      else held.push(done)
    },
  })
  const stdin = new PassThrough()
  const ended = run(['mcp'], contextWith(stdin, stdout))
  const count = 2000
  for (let id = 1; id <= count; id += 1)
    stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: modern } })}\n`,
    )
  while (held.length === 0 || stdout.writableLength < 1024 * 1024) await new Promise(setImmediate)
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  expect(stdout.writableLength).toBeLessThan(1024 * 1024 + 8192)
  isReading = true
  held[0]?.()
  stdin.end()
  expect(await ended).toBe(0)
  const ids = read
    .join('')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id)
  expect(ids).toEqual(Array.from({ length: count }, (_, index) => index + 1))
})

test('a revoked credential, a missing profile: each call says what to do, and the server goes on', async () => {
  const nobody = new McpSession(desk, 'nobody')
  const absent = await nobody.call('inbox')
  expect(absent.text).toMatch(/^authentication \(exit code 5\): no identity in the profile nobody\nhint: /)
  expect(await nobody.close()).toBe(0)
  const mcp = new McpSession(desk, 'cleo')
  expect((await mcp.call('peers')).isError).toBe(false)
  const { identity } = JSON.parse(await readFile(desk.path('cleo', 'profile.json'), 'utf8'))
  await bridge.owner.call({
    method: 'POST',
    target: `/api/admin/projects/${bridge.project.id}/credentials/${identity.credential_id}/revoke`,
    body: {},
  })
  for (const tool of ['inbox', 'peers']) {
    const { text, isError } = await mcp.call(tool)
    expect(isError).toBe(true)
    expect(text).toMatch(
      /^authentication \(exit code 5\): .*\nhint: stop here; the owner can enrol this agent again$/,
    )
  }
  const { text } = await mcp.call('send', { to: 'dan', text: 'never' })
  expect(text).toMatch(/^authentication \(exit code 5\): /)
  expect(await mcp.close()).toBe(0)
})
