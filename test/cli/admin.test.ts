/** The owner's daily commands against a real server. */
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { Desk, type DeskOptions } from '../support/desk.ts'
import { answerJson, startNode } from '../support/fake-node.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'

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

test('on a terminal the command prompts for the password without echoing it', async () => {
  const { code, stdout, stderr, raw } = await login({ typed: [ownerPassword] }, [])
  expect(code).toBe(0)
  expect(stderr).toBe('password: \n')
  expect(stdout + stderr).not.toContain(ownerPassword)
  expect(raw).toEqual([true, false])
})

test.each([
  ['password', ['admin', 'login', '--name', ownerName]],
  ['enrolment code', ['enroll']],
])('an interruption at the hidden prompt for the %s ends the command', async (_what, words) => {
  const interruption = new AbortController()
  const onError = (text: string) => {
    if (text.endsWith(': ')) interruption.abort()
  }
  const options = { typed: [], interruption, onError }
  const { code, stderr, raw } = await desk.run([...words, '--url', bridge.url], options)
  expect([code, stderr]).toEqual([130, expect.stringMatching(/: \nbridge: interrupted\n$/)])
  expect(raw).toEqual([true, false])
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

test('a command must name a project only if more than one is not archived', async () => {
  await signedIn()
  await admin('project', 'create', 'orchard')
  expect(await admin('agent', 'list')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is more than one project'),
  })
  expect((await admin('project', 'state', 'orchard', 'archived')).code).toBe(0)
  expect((await admin('agent', 'list')).stdout).toMatch(/^ada {2}/m)
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

test('the history shows control characters of an agent as their code points', async () => {
  await signedIn()
  await admin('message', 'ada', 'how far are you?')
  const { conversations } = await adminJson<{
    conversations: { id: string; kind: string; participants: { name: string }[] }[]
  }>('conversations')
  const own = conversations.find(
    ({ kind, participants }) => kind === 'owner' && participants.some(({ name }) => name === 'ada'),
  )
  await bridge.ada.send(own?.id ?? '', bridge.ada.id, 'nearly \u001b[31mdone\n| forged')
  const { stdout } = await admin('history', 'ada')
  expect(stdout).toContain('note from agent ada (verified)')
  expect(stdout).toContain('| nearly <U+001B>[31mdone\n| | forged\n')
})

test('a changed password ends every session, and the old password is refused', async () => {
  await signedInAnew()
  const next = 'another horse battery staple'
  const short = await desk.run(['admin', 'password', '--password-stdin'], { stdin: 'short\n' })
  expect(short).toMatchObject({ code: 2, stderr: expect.not.stringContaining('short\n') })
  // A terminal asks three times.
  const differing = [1, 2, 3].flatMap(() => [next, `${next}x`])
  expect(await desk.run(['admin', 'password'], { typed: [...differing, next, next] })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('the two passwords differ'),
  })
  // A terminal asks again for a short password, before it asks for the second time.
  const typed = ['short', next, `${next}x`, next, next]
  const changed = await desk.run(['admin', 'password'], { typed })
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
