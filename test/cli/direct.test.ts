/**
 * A direct transfer over loopback: the sender is a separate process, the recipient runs in this one. Contract
 * §9.
 */
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http'
import { createServer as createTunnel } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openProfile, type Transfer } from '../../sdk/index.ts'
import { trustOnly } from '../support/authorities.ts'
import { visible } from '../support/boxes.ts'
import type { TestBridge } from '../support/bridge.ts'
import { certificateChain } from '../support/certificates.ts'
import { childrenOf, descendantsOf } from '../support/child-processes.ts'
import type { Desk } from '../support/desk.ts'
import { describeBytes, fileOf, sha256 } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import type { Enrolled } from '../support/profiles.ts'
import type { Started, TestHome } from '../support/test-home.ts'
import { FileScene } from './file-scene.ts'

let scene: FileScene
let bridge: TestBridge
let desk: Desk
let home: TestHome
let folder: string
let ned: Enrolled
let opal: Enrolled
const bytes = fileOf(20 * 1024 * 1024)
let server: Server | undefined

// Applies to this process only, which is the recipient's.
const trusted = await certificateChain()
trustOnly(trusted.root.cert)

beforeAll(async () => {
  scene = await FileScene.open('ned', 'opal')
  ;({ bridge, desk, home, folder, sender: ned, recipient: opal } = scene)
  await writeFile(join(folder, 'report.pdf'), bytes)
})

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

afterAll(() => scene.close())

const box = () => scene.box()

async function serve(...more: string[]): Promise<{ sender: Started; id: string }> {
  const words = ['transfer', 'send', join(folder, 'report.pdf'), '--to', 'opal', '--direct', '--allow-plain']
  const sender = home.start([...words, ...more, '--profile', 'ned'])
  const said = await sender.said(/serving the file/)
  return { sender, id: await wholeId(said) }
}

/** The id of the transfer of ned that a text shows by its end. */
async function wholeId(said: string): Promise<string> {
  const [shown] = await ned.lines<Transfer>(
    'transfer',
    'show',
    /offered as ([0-9a-f]+)/.exec(said)?.[1] ?? '',
  )
  return shown?.id ?? ''
}

/** The helper is the only child of the sender. */
function helperOf({ child }: Started): number {
  const [helper] = childrenOf(child.pid ?? 0)
  if (helper === undefined) throw new Error('the sender has no child process')
  return helper
}

test('a file goes directly to the recipient, and the service stores only its description', async () => {
  const { sender, id } = await serve()
  const into = await box()
  const received = await opal.bridge('transfer', 'receive', id, '--output', into, '--allow-plain')
  expect(received).toMatchObject({ code: 0, stdout: expect.stringContaining('verified') })
  expect(received.stderr).toContain('PLAIN HTTP')
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  const { code, stdout, stderr } = await sender.ended
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^served \S+: verified/)])
  expect(stderr).toContain('PLAIN HTTP')
  expect(await readdir(join(bridge.data, 'packages')).catch(() => [])).not.toContain(id)
  const [shown] = await ned.lines<Transfer>('transfer', 'show', id)
  expect(shown).toMatchObject({ mode: 'direct', state: 'verified', package: null })
  expect(shown?.cleanup).toMatchObject({ sender_at: expect.any(String), recipient_at: expect.any(String) })
})

test('a helper killed in the middle is replaced by another, and the transferred parts are kept', async () => {
  const { sender, id } = await serve()
  const into = await box()
  let killed = false
  const onError = (text: string) => {
    if (killed || !text.includes('"parts":')) return
    killed = true
    process.kill(helperOf(sender), 'SIGKILL')
  }
  const words = ['transfer', 'receive', id, '--output', into, '--allow-plain', '--json', '--profile', 'opal']
  const received = await desk.run(words, { onError })
  expect([received.code, killed]).toEqual([0, true])
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  const { code, stderr } = await sender.ended
  expect(code).toBe(0)
  expect(stderr.match(/serving the file/g)).toHaveLength(2)
})

test('plain http is used by sender and recipient only on explicit request', async () => {
  const refused = await ned.bridge('transfer', 'send', join(folder, 'report.pdf'), '--to', 'opal', '--direct')
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--tunnel') })
  const { sender, id } = await serve()
  const into = await box()
  const careful = await opal.bridge('transfer', 'receive', id, '--output', into)
  expect(careful).toMatchObject({ code: 2, stderr: expect.stringContaining('plain http') })
  expect(await visible(into)).toEqual([])
  sender.child.kill('SIGINT')
  const { code, stderr } = await sender.ended
  expect(code).toBe(130)
  expect(stderr).toContain(`--resume ${id.slice(-8)} --direct --allow-plain`)
  await ned.lines('transfer', 'cancel', id)
})

test('the https address that a tunnel prints is deposited, and the sender ends with the transfer', async () => {
  const tunnel = 'echo "up at https://abc.example:$PORT now"; exec sleep 60'
  // No server is at that address, so the sender runs without the probe.
  const words = ['transfer', 'send', join(folder, 'report.pdf'), '--to', 'opal', '--direct', '--no-probe']
  const sender = home.start([...words, '--tunnel-command', tunnel, '--profile', 'ned'])
  const id = await wholeId(await sender.said(/serving the file/))
  await opal.lines('transfer', 'accept', id)
  const peer = await openProfile('opal', { home: desk.home })
  const { endpoint, token } = await peer.transfers.secret(id)
  expect(endpoint).toMatch(/^https:\/\/abc\.example:\d+$/)
  const all = [sender.child.pid ?? 0, ...descendantsOf(sender.child.pid ?? 0)]
  expect(all.length).toBeGreaterThan(2)
  // Only the helper has the token, in its environment, which only its user can read.
  for (const pid of all) expect(readFileSync(`/proc/${pid}/cmdline`).includes(token)).toBe(false)
  const helper = helperOf(sender)
  for (const pid of all.filter((each) => each !== helper))
    expect(readFileSync(`/proc/${pid}/environ`).includes(token)).toBe(false)
  await peer.transfers.cancel(id)
  await peer.close()
  const { code, stdout, stderr } = await sender.ended
  expect([code, stdout]).toEqual([0, expect.stringContaining('cancelled')])
  for (const text of [token, endpoint]) expect(`${stdout}${stderr}`).not.toContain(text)
  // The shell of the tunnel ends before the processes that it ends.
  await expect.poll(() => all.filter((pid) => existsSync(`/proc/${pid}/cwd`))).toEqual([])
})

test('an existing tunnel leads to the given port, over TLS that the sender trusts too', async () => {
  const port = await freePort()
  const tunnel = createTunnel(await trusted.server(), (incoming, response) => {
    const { method, url: path, headers } = incoming
    const asked = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    asked.once('error', () => response.destroy())
    incoming.pipe(asked)
  })
  server = tunnel
  await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve))
  const way = `HTTPS://LocalHost:${(tunnel.address() as AddressInfo).port}=${port}`
  const words = ['transfer', 'send', join(folder, 'report.pdf'), '--to', 'opal', '--direct', '--tunnel', way]
  const refused = await home.run([...words, '--profile', 'ned'])
  expect(refused).toMatchObject({ code: 9, stdout: '', stderr: expect.stringContaining('to resume: ') })
  expect(refused.stderr).toMatch(
    /the tunnel does not lead to this command: the certificate of the helper .*\n/,
  )
  const [, offered = ''] = /^offered as (\S+)/m.exec(refused.stderr) ?? []
  const [shown] = await ned.lines<Transfer>('transfer', 'show', offered)
  expect(shown).toMatchObject({ state: 'offered', offer: { endpoint_ready: false } })

  const authority = join(folder, 'authority.pem')
  await writeFile(authority, trusted.root.cert)
  const environment = { NODE_EXTRA_CA_CERTS: authority }
  const sender = home.start([...words, '--profile', 'ned'], { environment })
  expect(await sender.said(/serving the file/)).toContain(`resuming ${offered}, `)
  const into = await box()
  const received = await opal.bridge('transfer', 'receive', shown?.id ?? '', '--output', into)
  expect(received).toMatchObject({ code: 0, stderr: expect.not.stringContaining('PLAIN') })
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  const { code, stderr } = await sender.ended
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('PLAIN')])
})

test.each([
  [['--tunnel', 'https://a.example=1'], '--direct'],
  [['--direct', '--tunnel', 'http://203.0.113.7=1', '--allow-plain'], 'private addresses'],
  [['--no-probe'], '--no-probe needs --direct'],
  [['--direct', '--allow-plain', '--no-probe'], '--no-probe needs --tunnel'],
  [['--direct', '--tunnel', 'https://a.example'], 'local port'],
  [['--direct', '--tunnel', 'https://a.example/x=1'], 'local port'],
  [['--direct', '--tunnel', 'https://a.example=65536'], 'local port'],
  [['--direct', '--tunnel', 'https://u:p@a.example=1'], 'local port'],
])('send with %j is refused before anything is offered', async (words, told) => {
  const refused = await ned.bridge('transfer', 'send', join(folder, 'report.pdf'), '--to', 'opal', ...words)
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(told) })
  expect(refused.stderr).not.toContain('offered as')
})

/** Makes a transfer to opal whose endpoint is this server. */
async function servedBy(listener: RequestListener): Promise<{ id: string; asked: string[] }> {
  const asked: string[] = []
  const home = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  server = home
  await new Promise<void>((resolve) => home.listen(0, '127.0.0.1', resolve))
  const sender = await openProfile('ned', { home: desk.home })
  try {
    const address = await sender.directory.address('opal')
    const input = { ...address, filename: 'report.pdf', ...describeBytes(fileOf(1000)) }
    const { id } = await sender.transfers.offer({ ...input, mode: 'direct', encryption: 'none' })
    await sender.transfers.deposit(id, {
      endpoint: `http://127.0.0.1:${(home.address() as AddressInfo).port}`,
      token: 'T'.repeat(43),
      expires_at: new Date(bridge.clock().getTime() + 600_000).toISOString(),
      helper_mode: 'download',
    })
    return { id, asked }
  } finally {
    await sender.close()
  }
}

test.each<[string, number, RequestListener]>([
  ['redirects', 9, (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  [
    'serves another file',
    15,
    (_, response) =>
      void response.end(
        JSON.stringify({ committed_parts: [0], verified: true, sha256: sha256(fileOf(1000, 7)) }),
      ),
  ],
  [
    'serves other bytes than it names',
    15,
    (request, response) =>
      void response.end(
        request.url === '/v1/status'
          ? JSON.stringify({ committed_parts: [0], verified: true })
          : fileOf(1000, 7),
      ),
  ],
])('a source that %s is refused with exit %d, and no file gets the name', async (_, code, listener) => {
  const { id, asked } = await servedBy(listener)
  const into = await box()
  const refused = await opal.bridge('transfer', 'receive', id, '--output', into, '--allow-plain')
  expect(refused).toMatchObject({ code, stdout: '', stderr: expect.not.stringContaining('TTTT') })
  expect(await visible(into)).toEqual([])
  expect(asked.length).toBeGreaterThan(0)
  expect((await ned.lines<Transfer>('transfer', 'show', id))[0]).toMatchObject({
    state: 'accepted',
    receipt: null,
  })
})

/** This test is last: afterwards opal has a key, and files for her are sealed by default. */
test('a file that is served directly is sealed too, and only the peer can open it', async () => {
  const bare = await ned.bridge(
    'transfer',
    'send',
    join(folder, 'report.pdf'),
    '--to',
    'opal',
    '--direct',
    '--allow-plain',
    '--encrypt',
  )
  expect(bare).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('no registered key') })
  await opal.lines('key', 'create')
  const { sender, id } = await serve('--encrypt')
  await opal.lines('transfer', 'accept', id)
  const peer = await openProfile('opal', { home: desk.home })
  const { endpoint, token } = await peer.transfers.secret(id)
  await peer.close()
  const served = await getServed(endpoint, token)
  expect(served.subarray(0, 21).toString()).toBe('age-encryption.org/v1')
  expect(served.includes(bytes.subarray(0, 64))).toBe(false)

  const into = await box()
  const received = await opal.bridge('transfer', 'receive', id, '--output', into, '--allow-plain')
  expect(received).toMatchObject({ code: 0, stdout: expect.stringContaining('opened with the key') })
  expect((await readFile(join(into, 'report.pdf'))).equals(bytes)).toBe(true)
  expect(await sender.ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^served \S+: verified/),
  })
})

/** Requests the file as any client with the token does. */
async function getServed(endpoint: string, token: string): Promise<Buffer> {
  const asking = request(`${endpoint}/v1/file`, { headers: { authorization: `Bearer ${token}` } }).end()
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return Buffer.concat((await answer.toArray()) as Buffer[])
}
