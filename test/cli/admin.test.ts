/** The owner's daily commands against a real server. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { enroll } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { answerJson, startNode } from '../support/fake-node.ts'
import { offer } from '../support/files.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'

let bridge: TestBridge
let desk: Desk

beforeAll(async () => {
  bridge = await startBridge()
})

afterAll(async () => {
  await bridge.close()
})

beforeEach(async () => {
  const made = await Desk.make()
  desk = made
  return () => made.remove()
})

const login = (
  options: DeskOptions = { stdin: `${ownerPassword}\n` },
  more: readonly string[] = ['--password-stdin'],
) => desk.run(['admin', 'login', '--url', bridge.url, '--name', ownerName, ...more], options)

/** Hashing a password takes half a second, so one sign-in serves all tests that do not end it. */
let shared: string | undefined

async function signedIn(): Promise<void> {
  const path = desk.path('default', 'owner.json')
  if (shared === undefined) {
    await signedInAnew()
    shared = await readFile(path, 'utf8')
    return
  }
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, shared)
}

async function signedInAnew(): Promise<void> {
  const { code, stderr } = await login()
  if (code !== 0) throw new Error(stderr)
}

const admin = (...args: string[]) => desk.run(['admin', ...args])
const adminJson = <T>(...args: string[]) => desk.json<T>(['admin', ...args])

test('an owner signs in with a password from standard input and stays signed in', async () => {
  const { code, stdout, stderr } = await login()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^signed in as olu \\(owner\\) until \\S+Z at ${bridge.url}\n$`))
  expect((await admin('whoami')).stdout).toBe(stdout)
  expect(await adminJson('whoami')).toMatchObject({ user: { name: 'olu', role: 'owner' }, current: true })
})

test('on a terminal the command prompts for the password without echoing it', async () => {
  const { code, stdout, stderr, raw } = await login({ typed: [ownerPassword] }, [])
  expect(code).toBe(0)
  expect(stderr).toBe('password: \n')
  expect(stdout + stderr).not.toContain(ownerPassword)
  expect(raw).toEqual([true, false])
})

test('without a terminal and without --password-stdin there is no prompt', async () => {
  const { code, stderr } = await login({ stdin: `${ownerPassword}\n` }, [])
  expect(code).toBe(2)
  expect(stderr).toBe(
    'bridge: no terminal to read the password from\nhint: --password-stdin reads it from standard input\n',
  )
})

test('a wrong password is refused and appears in no output and no file', async () => {
  const { code, stdout, stderr } = await login({ stdin: 'not the password at all\n' })
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
  expect(stderr).toMatch(/^bridge: the name, password or link is wrong\nhint: bridge server owner-link/)
  expect(stderr).not.toContain('not the password')
  expect(await admin('whoami')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('not signed in'),
  })
})

test('the session file is readable by its user only, and no command prints it', async () => {
  await signedInAnew()
  const path = desk.path('default', 'owner.json')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(desk.path('default'))).mode & 0o777).toBe(0o700)
  expect((await stat(desk.home)).mode & 0o777).toBe(0o700)
  const { cookie } = JSON.parse(await readFile(path, 'utf8')) as { cookie: string }
  const token = cookie.split('=')[1] ?? ''
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
  for (const args of [
    ['whoami'],
    ['whoami', '--json'],
    ['sessions'],
    ['sessions', '--json'],
    ['agent', 'list'],
  ]) {
    const { code, stdout, stderr } = await admin(...args)
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(token)
  }
})

test('each profile has a separate sign-in', async () => {
  await signedIn()
  expect((await admin('whoami', '--profile', 'ada')).code).toBe(5)
  expect((await desk.run(['admin', 'whoami'], { environment: { BRIDGE_PROFILE: 'ada' } })).code).toBe(5)
  expect((await admin('whoami', '--profile', '../default')).code).toBe(2)
})

test('a damaged stored sign-in is reported without its content, and login writes it again', async () => {
  await signedInAnew()
  const path = desk.path('default', 'owner.json')
  const stored = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...stored, cookie: 'bridge_owner_dev=x\r\nX-Evil: 1' }))
  const { code, stderr } = await admin('whoami')
  expect(code).toBe(5)
  expect(stderr).not.toContain('Evil')
  await signedInAnew()
  expect((await admin('whoami')).code).toBe(0)
})

test('login refuses plain http beyond this machine before any prompt', async () => {
  const { code, stderr, raw } = await desk.run(
    ['admin', 'login', '--url', 'http://bridge.example', '--name', 'olu'],
    { typed: [ownerPassword] },
  )
  expect({ code, raw }).toEqual({ code: 2, raw: [] })
  expect(stderr).toMatch(/^bridge: plain http to bridge.example .*\nhint: use https;/)
})

test('an unreachable node exits 9', async () => {
  const args = ['admin', 'login', '--url', 'http://127.0.0.1:1', '--name', 'olu', '--password-stdin']
  expect(await desk.run(args, { stdin: 'whatever it is\n' })).toMatchObject({
    code: 9,
    stdout: '',
    stderr: expect.stringContaining('no connection to the node'),
  })
})

test('signing out ends the session at the node and deletes it locally', async () => {
  await signedInAnew()
  const path = desk.path('default', 'owner.json')
  const stored = await readFile(path, 'utf8')
  expect(await admin('logout')).toMatchObject({ code: 0, stdout: 'signed out\n' })
  expect((await admin('whoami')).code).toBe(5)
  await writeFile(path, stored)
  expect(await admin('whoami')).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /^bridge: the owner session is .*\nhint: bridge admin login signs in again/,
    ),
  })
  expect(await admin('logout')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('had ended already'),
  })
  await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a lost sign-in can be ended from another one', async () => {
  await signedInAnew()
  const lost = await adminJson<{ id: string }>('whoami')
  await signedInAnew()
  const { sessions } = await adminJson<{ sessions: { id: string; current: boolean }[] }>('sessions')
  expect(sessions.find(({ id }) => id === lost.id)).toMatchObject({ current: false })
  expect(await admin('sessions', 'revoke', lost.id)).toMatchObject({ code: 0, stdout: `ended ${lost.id}\n` })
  const after = await adminJson<{ sessions: { id: string }[] }>('sessions')
  expect(after.sessions.map(({ id }) => id)).not.toContain(lost.id)
  expect((await admin('sessions', 'revoke', bridge.project.id)).code).toBe(3)
})

test('a project is created once, found by name or id, and moved between its states', async () => {
  await signedIn()
  const made = await adminJson<{ id: string; policy: object }>(
    'project',
    'create',
    'orchard',
    '--message-budget',
    '5',
  )
  expect(made.policy).toMatchObject({ message_budget: 5, idle_seconds: null })
  expect(await admin('project', 'create', 'orchard')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('the name is already in use'),
  })
  expect(await admin('project', 'state', 'orchard', 'archived')).toMatchObject({
    code: 0,
    stdout: 'orchard is archived\n',
  })
  expect(await admin('project', 'state', made.id, 'active')).toMatchObject({
    code: 7,
    stderr: expect.stringContaining('bridge admin project list shows the state'),
  })
  expect((await admin('project', 'state', made.id, 'paused')).code).toBe(0)
  expect((await admin('project', 'state', 'orchid', 'paused')).code).toBe(3)
  const { projects } = await adminJson<{ projects: object[] }>('project', 'list')
  expect(projects).toContainEqual(expect.objectContaining({ id: made.id, state: 'paused' }))
  // With two projects that are not archived, a command must name one.
  expect(await admin('agent', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is more than one project'),
  })
  expect((await admin('agent', 'list', '--project', 'orchard')).stderr).toBe('no agents yet\n')
  expect((await admin('project', 'state', 'orchard', 'archived')).code).toBe(0)
  expect((await admin('agent', 'list')).stdout).toMatch(/^ada {2}/m)
})

test('an agent is created in an environment, shown, disabled and enabled', async () => {
  await signedIn()
  const desk1 = await adminJson<{ id: string }>('environment', 'create', 'desk-1', '--kind', 'laptop')
  expect((await admin('environment', 'create', 'desk-1')).code).toBe(7)
  expect((await admin('environment', 'list')).stdout).toMatch(/^desk-1 {2}laptop/m)
  const options = ['--role', 'reviewer', '--environment', 'desk-1', '--prompt-file', '-']
  const { agent } = await desk.json<{ agent: { id: string } }>(
    ['admin', 'agent', 'create', 'eve', ...options],
    {
      stdin: 'Read twice.\n',
    },
  )
  expect(agent).toMatchObject({
    environment_id: desk1.id,
    role_name: 'reviewer',
    prompt_template: 'Read twice.\n',
  })
  expect((await admin('agent', 'create', 'eve')).code).toBe(7)
  expect((await admin('agent', 'create', 'fay', '--environment', 'cellar')).code).toBe(3)
  expect((await admin('agent', 'create', 'fay', '--prompt-file', '/nowhere/prompt')).code).toBe(2)
  expect((await admin('agent', 'show', 'eve')).stdout).toMatch(/^state +enabled$/m)
  expect((await admin('agent', 'state', 'eve', 'disabled')).stdout).toBe('eve is disabled\n')
  expect((await admin('agent', 'show', agent.id)).stdout).toMatch(/^state +disabled$/m)
  expect(await admin('enrollment', 'create', 'eve')).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('the owner disabled this agent'),
  })
  expect((await admin('agent', 'show', 'adam')).code).toBe(3)
})

test('an enrolment prompt is printed once, on standard output only, and stored nowhere', async () => {
  await signedIn()
  await admin('agent', 'create', 'gus')
  const { code, stdout, stderr } = await admin('enrollment', 'create', 'gus')
  expect(code).toBe(0)
  const secret = codeOf(stdout)
  expect(stdout.split(secret)).toHaveLength(2)
  expect(stderr).not.toContain(secret)
  const enrollmentId = /enrollment (\S+)\n/.exec(stderr)?.[1] ?? ''
  const shown = await admin('enrollment', 'show', 'gus', enrollmentId)
  expect(shown.stdout).toMatch(/^pending, until /)
  expect(shown.stdout).not.toContain(secret)
  expect(await readFile(desk.path('default', 'owner.json'), 'utf8')).not.toContain(secret)

  await admin('enrollment', 'create', 'gus')
  expect((await admin('enrollment', 'show', 'gus', enrollmentId)).stdout).toMatch(/^revoked/)
  expect((await admin('enrollment', 'show', 'ada', enrollmentId)).code).toBe(3)
})

test('a dangerous command prompts for the password again once the sign-in is ten minutes old', async () => {
  await signedInAnew()
  bridge.clock.advance(11 * 60)
  const create = ['admin', 'enrollment', 'create', 'ben']
  expect(await desk.run(create, { stdin: '' })).toMatchObject({
    code: 5,
    stdout: '',
    stderr: expect.stringMatching(
      /^bridge: this action needs a sign-in .*\nhint: run it in a terminal .* --password-stdin\n$/,
    ),
  })
  const wrong = await desk.run([...create, '--password-stdin'], { stdin: 'not the password at all\n' })
  expect(wrong).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('wrong') })
  const right = await desk.run([...create, '--keep-existing', '--password-stdin'], {
    stdin: `${ownerPassword}\n`,
  })
  expect(right).toMatchObject({ code: 0, stdout: expect.stringContaining('bridge enroll') })
  // After a confirmation no prompt appears for ten minutes.
  expect((await desk.run([...create, '--keep-existing'])).code).toBe(0)
  bridge.clock.advance(11 * 60)
  const asked = await desk.run([...create, '--keep-existing'], { typed: [ownerPassword] })
  expect(asked).toMatchObject({ code: 0, raw: [true, false] })
  expect(asked.stdout + asked.stderr).not.toContain(ownerPassword)
  shared = undefined
})

test('a confirmation is stored for the next command, and a running watch continues', async () => {
  await signedInAnew()
  const { cookie } = JSON.parse(await readFile(desk.path('default', 'owner.json'), 'utf8')) as {
    cookie: string
  }
  bridge.clock.advance(11 * 60)
  const interruption = new AbortController()
  const shown = Promise.withResolvers<void>()
  const again = Promise.withResolvers<void>()
  const watching = desk.run(['admin', 'watch', '--json'], {
    interruption,
    onOutput: (text) => (text.includes('kept here') ? again.resolve() : shown.resolve()),
  })
  await shown.promise
  const confirmed = await desk.run(
    ['admin', 'enrollment', 'create', 'ben', '--keep-existing', '--password-stdin'],
    {
      stdin: `${ownerPassword}\n`,
    },
  )
  expect(confirmed.code).toBe(0)
  const after = JSON.parse(await readFile(desk.path('default', 'owner.json'), 'utf8')) as object
  expect(after).toEqual({ ...after, cookie: expect.not.stringMatching(cookie), name: ownerName })
  expect((await admin('agent', 'create', 'kept here')).code).toBe(0)
  await again.promise
  interruption.abort()
  expect((await watching).stderr).not.toContain('session')
  shared = undefined
})

test('credentials are listed without secrets and revoked permanently', async () => {
  await signedIn()
  await admin('agent', 'create', 'hal')
  const { stdout: prompt } = await admin('enrollment', 'create', 'hal')
  const hal = await enroll(bridge.url, codeOf(prompt), bridge.clock)
  await hal.startSession()
  const listed = await admin('credential', 'list')
  expect(listed.stdout).toMatch(new RegExp(`^${hal.enrolled.credential_id} {2}hal .*SHA256:`, 'm'))
  const { credential_id: id } = hal.enrolled
  expect((await admin('credential', 'revoke', id)).stdout).toMatch(new RegExp(`^revoked: ${id}, `))
  expect((await admin('credential', 'revoke', id)).stdout).toMatch(/^was already revoked: /)
  expect((await hal.call({ target: '/api/v1/inbox' })).json).toMatchObject({ error: 'credential_revoked' })
  expect((await admin('credential', 'revoke', bridge.project.id)).code).toBe(3)
})

test('a pair of agents is disabled and enabled again', async () => {
  await signedIn()
  expect((await admin('pairing', 'list')).stdout).toMatch(/^ada +ben +enabled/m)
  const { id } = await offer({ from: bridge.ada, to: bridge.ben, bytes: Buffer.from('a file') })
  expect((await admin('pairing', 'disable', 'ada', 'ben')).stdout).toBe(
    'ada and ben may no longer talk; their open transfers are cancelled\n',
  )
  expect((await admin('transfer', 'show', id)).stdout).toMatch(/^state: cancelled$/m)
  expect((await admin('pairing', 'disable', '--help')).stdout.replace(/\s+/g, ' ')).toContain(
    'Their open transfers are cancelled, messages that were not offered wait',
  )
  expect((await admin('pairing', 'list')).stdout).toMatch(/^ada +ben +disabled/m)
  expect((await admin('pairing', 'enable', 'ben', bridge.ada.id)).stdout).toMatch(/may talk\n$/)
  expect((await admin('pairing', 'enable', 'ada', 'ada')).code).toBe(2)
  expect((await admin('pairing', 'enable', 'ada', 'nobody')).code).toBe(3)
})

test("the owner writes, reads the agents' answers, and acknowledges them", async () => {
  await signedIn()
  const key = ['--key', 'owner-to-ada-1']
  const sent = await admin('message', 'ada', 'how far are you?', '--type', 'question', ...key)
  expect(sent.stdout).toMatch(/^stored \S+ as number \d+\n$/)
  expect((await admin('message', 'ada', 'how far are you?', '--type', 'question', ...key)).stdout).toBe(
    sent.stdout,
  )
  expect(await admin('message', 'ada', 'something else', ...key)).toMatchObject({ code: 7, stdout: '' })
  expect((await desk.run(['admin', 'message', 'ada', '-'], { stdin: 'on\ntwo lines\n' })).code).toBe(0)
  expect((await desk.run(['admin', 'message', 'ada'], { stdin: '' })).code).toBe(2)

  const { conversations } = await adminJson<{
    conversations: { id: string; kind: string; participants: { name: string }[] }[]
  }>('conversations')
  const own = conversations.find(
    ({ kind, participants }) => kind === 'owner' && participants.some(({ name }) => name === 'ada'),
  )
  const answer = await bridge.ada.send(own?.id ?? '', bridge.ada.id, 'nearly \u001b[31mdone\n| forged')
  const read = await admin('history', 'ada')
  expect(read.stdout).toContain('question from owner olu (verified)')
  expect(read.stdout).toContain('| on\n| two lines\n')
  expect(read.stdout).toContain('note from agent ada (verified)')
  expect(read.stdout).toContain('| nearly <U+001B>[31mdone\n| | forged\n')
  expect((await admin('history', own?.id ?? '')).stdout).toBe(read.stdout)
  expect(await admin('ack', answer.id)).toMatchObject({ code: 0, stdout: 'acknowledged 1\n' })
  expect((await admin('ack', answer.id)).stdout).toBe('acknowledged 0, 1 before\n')
  expect((await admin('ack', bridge.project.id)).code).toBe(3)
  expect(await adminJson('history', 'ada', '--before', '2')).toMatchObject({ messages: [{ sequence: 1 }] })
  expect((await admin('history', 'nobody')).code).toBe(3)
})

test('a changed password ends every session, and the old password is refused', async () => {
  await signedInAnew()
  const next = 'another horse battery staple'
  const short = await desk.run(['admin', 'password', '--password-stdin'], { stdin: 'short\n' })
  expect(short).toMatchObject({ code: 2, stderr: expect.not.stringContaining('short\n') })
  expect(await desk.run(['admin', 'password'], { typed: [next, `${next}x`] })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the two passwords differ'),
  })
  const changed = await desk.run(['admin', 'password'], { typed: [next, next] })
  expect(changed).toMatchObject({ code: 0, stdout: expect.stringContaining('password changed') })
  expect((await admin('whoami')).code).toBe(5)
  expect((await login()).code).toBe(5)
  expect((await login({ stdin: `${next}\n` })).code).toBe(0)

  bridge.clock.advance(11 * 60)
  const back = await desk.run(['admin', 'password', '--password-stdin'], {
    stdin: `${ownerPassword}\n${next}\n`,
  })
  expect(back.code).toBe(0)
  expect((await login()).code).toBe(0)
  shared = undefined
})

test('a changed portal origin is reported, and signing in again pins the new one', async () => {
  await signedIn()
  const path = desk.path('default', 'owner.json')
  const stored = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...stored, portal_origin: 'https://former.example' }))
  expect((await admin('whoami')).code).toBe(0)
  expect(await admin('project', 'state', 'demo', 'active')).toMatchObject({
    code: 5,
    stderr: expect.stringMatching(
      /^bridge: the Origin header .*\nhint: .*bridge admin login stores the new one\n$/,
    ),
  })
  await signedInAnew()
  expect((await admin('project', 'state', 'demo', 'active')).code).toBe(0)
})

test('a message whose outcome is unknown is reported with the key for a safe retry', async () => {
  await signedIn()
  const page = { has_more: false, next_after: null }
  const node = await startNode(({ method, url }, _nth, response) => {
    if (method === 'POST') response.destroy()
    else if (url.includes('/agents')) answerJson(response, 200, { agents: [], ...page })
    else answerJson(response, 200, { projects: [{ ...bridge.project, state: 'active' }], ...page })
  })
  onTestFinished(() => node.close())
  const path = desk.path('default', 'owner.json')
  const stored = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(path, JSON.stringify({ ...stored, base_url: node.url }))

  const { code, stdout, stderr } = await admin('message', bridge.ada.id, 'are you there?')
  expect({ code, stdout }).toEqual({ code: 9, stdout: '' })
  const key = /hint: .* --key (\S+) stores it exactly once\n$/.exec(stderr)?.[1] ?? 'no key named'
  const keysOf = () =>
    node.heard.filter(({ method }) => method === 'POST').map(({ headers }) => headers['idempotency-key'])
  expect(new Set(keysOf())).toEqual(new Set([key]))
  await admin('message', bridge.ada.id, 'are you there?', '--key', key)
  expect(new Set(keysOf())).toEqual(new Set([key]))
})
