/** Failures of commands, each with its exit code and its message, beside the successful case. */
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk } from '../support/desk.ts'
import { type Answer, answerJson, refuse, startNode } from '../support/fake-node.ts'
import { type Enrolled, enrollAgain, enrolled } from '../support/profiles.ts'
import { TestHome } from '../support/test-home.ts'

let bridge: TestBridge
let home: Desk
let cleo: Enrolled

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

/** Each test has its own machine and agent. */
let count = 0
beforeEach(async () => {
  count += 1
  home = await Desk.make()
  cleo = await enrolled(bridge, home, `cleo-${count}`)
})
afterEach(() => home.remove())

/** Sets another address in the profile. */
async function moveTo(url: string): Promise<void> {
  const path = home.path(cleo.name, 'profile.json')
  const profile = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...profile, base_url: url }))
}

test('an interrupted send names its message in the outbox, and the command that discards it', async () => {
  let heard = () => {}
  const asked = new Promise<void>((resolve) => {
    heard = resolve
  })
  const silent = await startNode(() => heard())
  await moveTo(silent.url)
  const sending = TestHome.at(home.folder).start(['send', 'ada', 'never mind', '--profile', cleo.name])
  await asked
  sending.child.kill('SIGINT')
  const { code, stdout, stderr } = await sending.ended
  await silent.close()
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  const [, id = ''] = /^bridge: interrupted; the outbox keeps (\S+)\nhint: [^\n]+\n$/.exec(stderr) ?? []
  expect(stderr).toContain(`bridge outbox drop --profile ${cleo.name} ${id} `)
  expect(await cleo.bridge('outbox', 'drop', id)).toMatchObject({ code: 0 })
})

test('messages in the outbox of one agent are not sent by the next agent of the profile', async () => {
  const address = bridge.url
  const gone = await startNode(() => {})
  await gone.close()
  await moveTo(gone.url)
  expect((await cleo.bridge('send', 'ada', 'I approve')).code).toBe(9)
  await moveTo(address)
  const [file = ''] = await readdir(home.path(cleo.name, 'outbox'))
  const id = file.replace('.kept', '')

  const next = await bridge.owner.createAgent(bridge.project.id, `next-${count}`)
  await enrollAgain(bridge, home, { id: next.id, name: cleo.name }, '--replace')
  expect(await cleo.bridge('outbox', 'flush', id)).toMatchObject({
    code: 7,
    stdout: '',
    stderr: [
      `bridge: the outbox entry ${id} belongs to another agent or another node`,
      `hint: leave it to the profile with that identity, or discard it: bridge outbox drop --profile ${cleo.name}`,
      '',
    ].join('\n'),
  })
  expect((await cleo.bridge('outbox', 'flush')).stderr).toBe('nothing was due\n')
  expect(await readdir(home.path(cleo.name, 'outbox'))).toEqual([file])
})

test('a flush says that an entry is still being sent, instead of that nothing was due', async () => {
  const address = bridge.url
  const gone = await startNode(() => {})
  await gone.close()
  await moveTo(gone.url)
  expect((await cleo.bridge('send', 'owner', 'first')).code).toBe(9)
  await moveTo(address)
  const [file = ''] = await readdir(home.path(cleo.name, 'outbox'))
  const id = file.replace('.kept', '')
  // A command that was killed while it sent the entry leaves it like this.
  await rename(home.path(cleo.name, 'outbox', file), home.path(cleo.name, 'outbox', `${id}.sending`))
  const because = 'if it was killed, the entry is due 2 minutes after it began\n'
  expect(await cleo.bridge('outbox', 'flush', id)).toMatchObject({
    code: 7,
    stdout: '',
    stderr: `bridge: another command is sending ${id}\nhint: ${because}`,
  })
  expect(await cleo.bridge('outbox', 'flush')).toMatchObject({
    code: 0,
    stderr: `another command is sending ${id}; ${because}`,
  })
  const clock = () => new Date(Date.now() + 121_000)
  expect(await home.run(['outbox', 'flush', id, '--profile', cleo.name], { clock })).toMatchObject({
    code: 0,
    stdout: `sent from the outbox: ${id}\n`,
  })
})

test('a flush to an address with another program keeps every entry and exits as without a node', async () => {
  const other = await startNode((_heard, _nth, response) =>
    response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>'),
  )
  await moveTo(other.url)
  for (const text of ['one', 'two']) expect((await cleo.bridge('send', 'owner', text)).code).toBe(9)
  const flushed = await cleo.bridge('outbox', 'flush')
  await other.close()
  expect(flushed).toMatchObject({
    code: 9,
    stderr: expect.stringContaining('does not speak the bridge protocol'),
  })
  expect(flushed.stdout).toMatch(/^(the outbox still keeps \S+: .+\n){2}$/)
  expect(await readdir(home.path(cleo.name, 'outbox'))).toHaveLength(2)
})

test('a long text in a list is cut between characters', async () => {
  const address = bridge.url
  const long = (before: number) => `${'a'.repeat(before)}😀${'b'.repeat(60)}`
  expect((await cleo.bridge('send', 'owner', long(58), '--type', 'question')).code).toBe(0)
  expect((await cleo.bridge('status')).stdout).toContain(` | ${'a'.repeat(58)}…\n`)
  const gone = await startNode(() => {})
  await gone.close()
  await moveTo(gone.url)
  expect((await cleo.bridge('send', 'owner', long(58 - 'to owner: '.length))).code).toBe(9)
  const listed = await cleo.bridge('outbox', 'list')
  await moveTo(address)
  expect(listed.stdout).toContain(`to owner: ${'a'.repeat(48)}…`)
})

test('an entry older than six days is sent only if a person names it', async () => {
  const address = bridge.url
  const gone = await startNode(() => {})
  await gone.close()
  await moveTo(gone.url)
  expect((await cleo.bridge('send', 'owner', 'is it still true?')).code).toBe(9)
  await moveTo(address)

  const clock = () => new Date(Date.now() + 7 * 86_400_000)
  const later = (...args: string[]) => home.run([...args, '--profile', cleo.name], { clock })
  const listed = await later('outbox', 'list')
  const [id = ''] = /\d{13}-\S{8}/.exec(listed.stdout) ?? []
  expect(listed.stdout).toMatch(/ {2}waits for you {2}7 days ago {2}.* to owner: is it still true\?\n$/)
  expect(await later('send', 'owner', 'news')).toMatchObject({ code: 0, stderr: '' })
  expect(await later('outbox', 'flush')).toMatchObject({ code: 0, stderr: 'nothing was due\n' })
  expect(await later('outbox', 'flush', id)).toMatchObject({
    code: 0,
    stdout: `sent from the outbox: ${id}\n`,
  })
  const [page] = await cleo.lines<{ messages: { body: string }[] }>('history', 'owner')
  expect(page?.messages.map(({ body }) => body)).toEqual(['news', 'is it still true?'])
})

test('a stopped node exits 9, and its address is shown', async () => {
  const gone = await startNode(() => {})
  await gone.close()
  await moveTo(gone.url)
  for (const command of [['whoami'], ['listen', '--once']]) {
    const { code, stderr } = await cleo.bridge(...command)
    expect(code).toBe(9)
    expect(stderr).toContain(
      `bridge: no connection to the node at ${gone.url} (ECONNREFUSED)\nhint: is the node running`,
    )
  }
  const login = ['admin', 'login', '--url', gone.url, '--name', 'olu', '--password-stdin']
  expect(await home.run(login, { stdin: 'correct horse battery staple\n' })).toMatchObject({
    code: 9,
    stderr: expect.stringContaining(`no connection to the node at ${gone.url} (ECONNREFUSED)`),
  })
})

test.each<[string, Answer]>([
  ['a page', (_heard, _nth, response) => void response.end('<html>welcome</html>')],
  ['another API', (_heard, _nth, response) => answerJson(response, 200, { hello: 'world' })],
])('%s at the address is reported as no node', async (_what, answer) => {
  const other = await startNode(answer)
  await moveTo(other.url)
  const { code, stderr } = await cleo.bridge('whoami')
  expect(code).toBe(9)
  expect(stderr).toMatch(/does not speak the bridge protocol\nhint: is this the address of a bridge node\?/)
  expect(stderr).toContain(`bridge: what answered at ${other.url} (status 200) does`)
  await other.close()
})

test('the node of another bridge refuses this identity', async () => {
  const elsewhere = await startBridge()
  await moveTo(elsewhere.url)
  const { code, stderr } = await cleo.bridge('whoami')
  expect(code).toBe(5)
  expect(stderr).toMatch(
    /^bridge: this server does not know the credential\nhint: is this the node that the agent was enrolled at\?/,
  )
  await elsewhere.close()
})

test('a wrong clock is corrected and the correction stored, and one that stays wrong exits 14', async () => {
  const ahead = await startBridge()
  const eve = await enrolled(ahead, home, 'eve')
  ahead.clock.advance(3600)
  expect((await eve.bridge('whoami')).code).toBe(0)
  const stored = await readFile(home.path('eve', 'session.json'), 'utf8')
  expect((JSON.parse(stored) as { clock_offset_ms: number }).clock_offset_ms).toBeGreaterThan(3_590_000)
  // Ages are computed with the node's time.
  await eve.bridge('send', 'owner', 'how late is it?', '--expects-reply-by', '30m')
  ahead.clock.advance(600)
  expect((await eve.bridge('history', 'owner')).stdout).toMatch(
    /, 10 minutes ago\n[\s\S]*, in (19|20) minutes\n/,
  )
  await ahead.close()

  const odd = await startNode((_heard, _nth, response) =>
    refuse(response, 401, 'clock_skew', { details: { server_time: '2026-01-01T00:00:00.000Z' } }),
  )
  await moveTo(odd.url)
  const { code, stderr } = await cleo.bridge('whoami')
  expect(code).toBe(14)
  expect(stderr).toMatch(
    /^bridge: this machine's clock differs from the node's, which shows 2026-01-01T00:00:00.000Z\nhint: set this machine's clock/,
  )
  expect(odd.heard).toHaveLength(2)
  await odd.close()
})

test('a revoked credential exits 5, and no command enrolls again', async () => {
  const [{ credential }] = (await cleo.lines<{ credential: { id: string } }>('whoami')) as [
    { credential: { id: string } },
  ]
  await bridge.owner.ok({
    target: `/api/admin/projects/${bridge.project.id}/credentials/${credential.id}/revoke`,
    body: {},
  })
  const before = await readdir(home.path(cleo.name))
  for (const command of [['whoami'], ['send', 'owner', 'hello'], ['listen', '--once']]) {
    const { code, stderr } = await cleo.bridge(...command)
    expect(code).toBe(5)
    expect(stderr).toMatch(
      /^bridge: the credential was revoked.*\nhint: stop here; the owner can enrol this agent again\n$/,
    )
  }
  expect((await cleo.bridge('outbox', 'list')).stdout).toBe('')
  expect((await readdir(home.path(cleo.name))).filter((file) => file.endsWith('.pem'))).toEqual(
    before.filter((file) => file.endsWith('.pem')),
  )
})

test('another instance is refused with the live session, and the replaced one stops permanently', async () => {
  await cleo.bridge('session', 'start')
  const twin = await Desk.make()
  await cp(home.path(cleo.name), twin.path(cleo.name), { recursive: true })
  await rm(twin.path(cleo.name, 'session.json'))
  const path = twin.path(cleo.name, 'profile.json')
  const profile = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...profile, instance_id: '01980000-0000-4000-8000-0000000000f9' }))
  const asTwin = (...args: string[]) => twin.run([...args, '--profile', cleo.name])

  expect(await asTwin('peers')).toMatchObject({
    code: 6,
    stderr: expect.stringContaining('another instance (bridge) is active'),
  })
  bridge.clock.advance(200)
  expect(await asTwin('peers')).toMatchObject({ code: 0 })
  for (const command of [['peers'], ['listen', '--once'], ['send', 'owner', 'me?']]) {
    const { code, stderr } = await cleo.bridge(...command)
    expect(code).toBe(6)
    expect(stderr).toMatch(
      /^bridge: a newer session replaced .*\nhint: another instance took over: .*; stop here/,
    )
  }
  expect(await asTwin('peers')).toMatchObject({ code: 0 })
  await twin.remove()
})

/** Creates an agent that is not enrolled; returns its code. */
async function invited(name: string) {
  const { id } = await bridge.owner.createAgent(bridge.project.id, name)
  return { id, name, code: await bridge.owner.enrollmentCode(bridge.project.id, id) }
}

const enrol = (machine: Desk, profile: string, url: string, code: string, ...more: string[]) =>
  machine.run(['enroll', '--url', url, '--profile', profile, ...more], { stdin: `${code}\n` })

test('an enrolment whose answer was lost is completed by the same command', async () => {
  const { name, code } = await invited(`dan-${count}`)
  const losing = createServer((incoming, outgoing) => {
    const { hostname, port } = new URL(bridge.url)
    const { method, url, headers } = incoming
    const forwarded = request({ hostname, port, method, path: url, headers }, (answer) => {
      answer.resume().on('end', () => outgoing.socket?.destroy())
    })
    incoming.pipe(forwarded)
  })
  await new Promise<void>((resolve) => losing.listen(0, '127.0.0.1', resolve))
  const { port } = losing.address() as AddressInfo
  const lost = await enrol(home, name, `http://127.0.0.1:${port}`, code)
  expect(lost.code).toBe(9)
  losing.close()

  const found = await enrol(home, name, bridge.url, code)
  expect(found).toMatchObject({
    code: 0,
    stdout: `enrolled as ${name} in demo at ${bridge.url}, profile ${name}\n`,
  })
  expect((await home.run(['whoami', '--profile', name])).code).toBe(0)
  const again = await enrol(home, name, bridge.url, code)
  expect(again).toMatchObject({
    code: 0,
    stdout: found.stdout,
    stderr: 'this code has already created this profile\n',
  })
})

test('a code can be used once: another machine is refused, and its attempts leave no identity', async () => {
  const { name, code } = await invited(`dan-${count}`)
  await enrol(home, name, bridge.url, code)
  const other = await Desk.make()
  const refused = await enrol(other, name, bridge.url, code)
  expect(refused).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /^bridge: the enrolment code was already used .*\nhint: the code was used with another key/,
    ),
  })
  expect((await other.run(['whoami', '--profile', name])).stderr).toContain('no identity in the profile')
  await other.remove()
})

test('after the loss of a machine the agent returns with a new enrolment', async () => {
  const lost = home
  home = await Desk.make()
  await enrollAgain(bridge, home, cleo)
  expect((await home.run(['peers', '--profile', cleo.name])).code).toBe(0)
  expect(await lost.run(['peers', '--profile', cleo.name])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('the credential was revoked'),
  })
  await lost.remove()
})

test('a device-bound identity works on its own machine only', async () => {
  const { id } = await bridge.owner.createAgent(bridge.project.id, `dev-${count}`)
  const code = await bridge.owner.enrollmentCode(bridge.project.id, id, { binding: 'device' })
  const unbound = await enrol(home, 'dev', bridge.url, code)
  expect(unbound).toMatchObject({ code: 5, stderr: expect.stringContaining('bound to another device') })
  expect((await enrol(home, 'dev', bridge.url, code, '--device')).code).toBe(0)
  const asDevice = (...args: string[]) => home.run([...args, '--profile', 'dev'])
  expect((await asDevice('whoami')).stdout).toContain('device-bound')

  const path = home.path('dev', 'profile.json')
  const profile = JSON.parse(await readFile(path, 'utf8')) as { device: string }
  const { machine, ...device } = JSON.parse(profile.device) as { machine: string }
  expect(machine).toMatch(/^[0-9a-f]{64}$/)
  const moved = JSON.stringify({ ...device, machine: machine.replace(/./g, '0') })
  await writeFile(path, JSON.stringify({ ...profile, device: moved }))
  expect(await asDevice('whoami')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('bound to another device'),
  })
})
