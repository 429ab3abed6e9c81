/** The sign-in of the owner's client, against a real server and against servers that are no bridge. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type KeptSignIn, nodeStatus, Owner, pooledFetch } from '../../sdk/program.ts'
import { initServer } from '../../server/host/init.ts'
import { startServer } from '../../server/server.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { testConfig } from '../support/config.ts'
import { answerJson, startNode } from '../support/fake-node.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'
import { dropDatabase, makeEmptyDatabase } from '../support/postgres.ts'
import { kept, recording, refusal, resume, signIn } from './owner-client.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})

afterAll(async () => {
  await bridge.close()
})

test('a fresh node is set up once with the token of its link', async () => {
  const data = await mkdtemp(join(tmpdir(), 'bridge-owner-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  onTestFinished(() => dropDatabase(data))
  await makeEmptyDatabase(data)
  const config = testConfig(data, { port: '0', log_level: 'silent', reserve_bytes: '0' })
  const { setupLink } = await initServer(config)
  const server = await startServer(config, { passwordCost: 4 })
  onTestFinished(() => server.stop())
  const token = new URL(setupLink).hash.slice(1)
  const setup = { baseUrl: server.url, name: 'olu', password: 'a password of length' }

  expect(await refusal(Owner.setup({ ...setup, token: 'X'.repeat(43) }))).toMatchObject({
    code: 'sign_in_failed',
  })
  const weak = await refusal(Owner.setup({ ...setup, token, password: 'too short' }))
  expect(weak).toMatchObject({ code: 'invalid_request' })
  expect(inspect(weak)).not.toContain('too short')

  await using owner = await Owner.setup({ ...setup, token })
  expect(owner.session).toMatchObject({ user: { name: 'olu', role: 'owner' }, current: true })
  expect(await refusal(Owner.setup({ ...setup, token }))).toMatchObject({ code: 'setup_done' })
})

test('an owner signs in with the right password only', async () => {
  const owner = await signIn(bridge)
  expect(await owner.signIn.current()).toEqual(owner.session)
  const wrong = await refusal(
    Owner.signIn({ baseUrl: bridge.url, name: ownerName, password: 'wrong password, really' }),
  )
  expect(wrong).toMatchObject({ name: 'BridgeError', code: 'sign_in_failed', status: 401 })
  expect(inspect(wrong)).not.toContain('wrong password, really')
})

test('the Origin is on every POST, and the cookie only on requests of a signed-in owner', async () => {
  const { sent, fetch } = recording()
  const owner = await signIn(bridge, fetch)
  await owner.signIn.current()
  await owner.projects.list()
  await owner.projects.setState(bridge.project.id, 'active')
  const { origin } = new URL(bridge.url)
  const { cookie } = kept(owner)
  expect(
    sent.map(({ url, init: { method, headers } }) => [
      method,
      new URL(url).pathname,
      headers.Origin,
      headers.cookie,
    ]),
  ).toEqual([
    ['GET', '/api/health', undefined, undefined],
    ['POST', '/api/admin/session', origin, undefined],
    ['GET', '/api/admin/session', undefined, cookie],
    ['GET', '/api/admin', undefined, cookie],
    ['POST', `/api/admin/projects/${bridge.project.id}/state`, origin, cookie],
  ])
})

test('an Origin other than the pinned one is refused', async () => {
  const other = resume({ ...kept(await signIn(bridge)), portal_origin: 'https://portal.example' })
  expect((await other.signIn.current()).user.name).toBe(ownerName)
  expect(await refusal(other.projects.create({ name: 'elsewhere' }))).toMatchObject({
    code: 'origin_mismatch',
  })
})

test('a confirmation changes the cookie, and a wrong password does not', async () => {
  const { sent, fetch } = recording()
  const owner = await signIn(bridge, fetch)
  const before = kept(owner)
  expect(await refusal(owner.signIn.confirm('wrong password, really'))).toMatchObject({
    code: 'sign_in_failed',
  })
  expect(kept(owner).cookie).toBe(before.cookie)
  await owner.signIn.confirm(ownerPassword)
  const { cookie } = kept(owner)
  expect(cookie).not.toBe(before.cookie)
  expect((await owner.signIn.current()).user.name).toBe(ownerName)
  expect(sent.at(-1)?.init.headers.cookie).toBe(cookie)
  expect(await refusal(resume(before).signIn.current())).toMatchObject({ code: 'owner_session_expired' })
})

test('a call that crosses a confirmation is retried once with the new cookie', async () => {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const late = Promise.withResolvers<void>()
  const owner = await signIn(bridge, async (url, init) => {
    if (url.endsWith('/api/admin')) await late.promise
    return pool.fetch(url, init)
  })
  const crossing = owner.projects.list()
  await owner.signIn.confirm(ownerPassword)
  late.resolve()
  expect((await crossing).projects.map(({ id }) => id)).toContain(bridge.project.id)
})

test('after a confirmation in another process the stored sign-in is read again, once per call, and only for the same node', async () => {
  const owner = await signIn(bridge)
  const before = kept(owner)
  let stored: KeptSignIn | undefined = before
  let reads = 0
  const reload = async () => {
    reads += 1
    return stored
  }
  const beside = Owner.resume(before, { reload })
  onTestFinished(() => beside.close())
  await owner.signIn.confirm(ownerPassword)
  const late = await refusal(beside.signIn.current())
  expect([late, reads]).toMatchObject([{ code: 'owner_session_expired' }, 1])
  for (const other of [{ base_url: 'https://other.example' }, { portal_origin: 'https://other.example' }]) {
    stored = { ...kept(owner), ...other }
    expect(await refusal(beside.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  }
  stored = kept(owner)
  expect((await beside.signIn.current()).user.name).toBe(ownerName)
  expect([kept(beside).cookie, reads]).toEqual([kept(owner).cookie, 4])
})

test('a wait continues although a confirmation in another process stores its cookie after the refusal', async () => {
  const owner = await signIn(bridge)
  const before = kept(owner)
  let reads = 0
  const reload = async () => {
    reads += 1
    return reads < 4 ? before : kept(owner)
  }
  const beside = Owner.resume(before, { reload })
  onTestFinished(() => beside.close())
  await beside.signIn.current()
  expect(reads).toBe(0)
  await owner.signIn.confirm(ownerPassword)
  expect((await beside.signIn.current()).user.name).toBe(ownerName)
  expect([kept(beside).cookie, reads]).toEqual([kept(owner).cookie, 4])
})

test('a wait continues although its refusal arrives before the answer to a confirmation', async () => {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const refused = Promise.withResolvers<void>()
  const owner = await signIn(bridge, async (url, init) => {
    const answer = await pool.fetch(url, init)
    if (answer.status === 401) refused.resolve()
    if (url.endsWith('/confirm')) await refused.promise.then(() => sleep(200))
    return answer
  })
  await owner.projects.list()
  let isRefused = false
  void refused.promise.then(() => {
    isRefused = true
  })
  const confirming = owner.signIn.confirm(ownerPassword)
  while (!isRefused) await owner.projects.list()
  await confirming
})

test('the end of a sign-in is told after seconds to a wait, and then at once', async () => {
  const owner = await signIn(bridge)
  const stored = kept(owner)
  let reads = 0
  const reload = async () => {
    reads += 1
    return stored
  }
  const beside = Owner.resume(stored, { reload })
  onTestFinished(() => beside.close())
  await beside.signIn.current()
  await owner.signIn.close()
  expect(await refusal(beside.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(reads).toBeGreaterThan(1)
  reads = 0
  expect(await refusal(beside.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(reads).toBe(1)
})

test('inspecting, serializing or failing reveals nothing of the session', async () => {
  const owner = await signIn(bridge)
  const token = kept(owner).cookie.split('=')[1] ?? ''
  expect(token).toHaveLength(43)
  const failure = await refusal(owner.projects.setState(bridge.ada.id, 'active'))
  expect(failure).toMatchObject({ code: 'not_found' })
  const shown = [owner, owner.projects, owner.signIn, failure].map((each) =>
    inspect(each, { depth: 9, showHidden: true }),
  )
  expect(shown.join('\n') + JSON.stringify(owner)).not.toContain(token)
  expect(inspect(owner)).toContain(`olu at ${bridge.url}`)
})

test('plain http beyond this machine is refused before anything is sent', async () => {
  const { sent, fetch } = recording()
  const options = { baseUrl: 'http://192.0.2.1:8484', name: 'olu', password: ownerPassword, fetch }
  expect(await refusal(Owner.signIn(options))).toMatchObject({ code: 'insecure_url' })
  const stored = { base_url: 'http://bridge.example', portal_origin: 'http://bridge.example' }
  const cookie = `bridge_owner_dev=${'A'.repeat(43)}`
  expect(() => Owner.resume({ ...stored, cookie })).toThrowError(
    expect.objectContaining({ code: 'insecure_url' }),
  )
  expect(sent).toEqual([])
})

test('a session continues in another process, and not from a stored text of another form', async () => {
  const first = kept(await signIn(bridge))
  expect((await resume(first).signIn.current()).user.name).toBe(ownerName)
  const broken: Partial<KeptSignIn>[] = [
    { cookie: `${first.cookie}\r\nX-Injected: 1` },
    { cookie: first.cookie.replace('bridge_owner_dev', 'other') },
    { cookie: '' },
    { portal_origin: 'https://portal.example/path' },
    { portal_origin: 'null' },
  ]
  for (const part of broken) {
    expect(() => Owner.resume({ ...first, ...part }), JSON.stringify(part)).toThrowError(
      expect.objectContaining({ code: 'identity_unreadable' }),
    )
  }
})

test('after signing out no request is sent, and a copy of the session is refused', async () => {
  const { sent, fetch } = recording()
  const owner = await signIn(bridge, fetch)
  const copy = resume(kept(owner))
  await owner.signIn.close()
  const before = sent.length
  expect(owner.keep()).toBeUndefined()
  expect(await refusal(owner.signIn.current())).toMatchObject({
    name: 'LocalError',
    code: 'identity_missing',
  })
  expect(sent).toHaveLength(before)
  expect(await refusal(copy.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
})

test('a dangerous action requires a confirmation once the sign-in is ten minutes old', async () => {
  const owner = await signIn(bridge)
  const issue = () => owner.enrollments.create(bridge.project.id, bridge.ada.id, { keep_existing: true })
  await issue()
  bridge.clock.advance(601)
  expect(await refusal(issue())).toMatchObject({ code: 'reauth_required' })
  expect(await refusal(owner.signIn.confirm('not this one, no'))).toMatchObject({ code: 'sign_in_failed' })
  await owner.signIn.confirm(ownerPassword)
  const { prompt, enrollment_id } = await issue()
  const status = await owner.enrollments.get(bridge.project.id, bridge.ada.id, enrollment_id)
  expect(status).toMatchObject({ state: 'pending' })
  expect(JSON.stringify(status)).not.toContain(codeOf(prompt))
})

test('a server that is no bridge gets no password', async () => {
  const answers: readonly object[] = [
    {
      status: 'ok',
      service: 'something-else',
      stage: '',
      build: {},
      server_id: '',
      portal_origin: 'http://x',
    },
    {
      status: 'ok',
      service: 'agent-bridge',
      stage: '',
      build: {},
      server_id: '',
      portal_origin: 'not an origin',
    },
    { hello: 'world' },
  ]
  for (const answer of answers) {
    const node = await startNode((_heard, _nth, response) => answerJson(response, 200, answer))
    onTestFinished(() => node.close())
    const options = { baseUrl: node.url, name: 'olu', password: ownerPassword }
    expect(await refusal(Owner.signIn(options))).toMatchObject({ name: 'LocalError', code: 'bad_response' })
    expect(node.heard.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /api/health'])
  }
})

test('a redirect does not carry the cookie to another host', async () => {
  const elsewhere = await startNode((_heard, _nth, response) => answerJson(response, 200, {}))
  onTestFinished(() => elsewhere.close())
  const node = await startNode((_heard, _nth, response) => {
    response.writeHead(307, { location: `${elsewhere.url}/api/admin/session` }).end()
  })
  onTestFinished(() => node.close())
  const owner = resume({ ...kept(await signIn(bridge)), base_url: node.url })
  expect(await refusal(owner.signIn.current())).toMatchObject({ code: 'redirected' })
  expect(elsewhere.heard).toEqual([])
})

test('a refusal that contains a cookie does not change the session', async () => {
  const forged = `bridge_owner_dev=${'A'.repeat(43)}; Path=/; HttpOnly`
  const node = await startNode((_heard, _nth, response) => {
    const body = { error: 'not_found', message: 'gone', request_id: 'r-1' }
    answerJson(response, 404, body, { 'set-cookie': forged })
  })
  onTestFinished(() => node.close())
  const before = { ...kept(await signIn(bridge)), base_url: node.url }
  const owner = resume(before)
  expect(await refusal(owner.signIn.current())).toMatchObject({ code: 'not_found' })
  expect(owner.keep()).toEqual(before)
})

test('an aborted call ends immediately', async () => {
  const owner = await signIn(bridge)
  const signal = AbortSignal.abort()
  expect(await refusal(owner.projects.list({ signal }))).toMatchObject({ code: 'aborted' })
})

test('the state of a node can be read without signing in', async () => {
  const status = await nodeStatus({ baseUrl: bridge.url })
  expect(status).toMatchObject({
    health: { service: 'agent-bridge', server_id: bridge.server.serverId, portal_origin: bridge.url },
    readiness: { ready: true, checks: { database: true, envelope_key: true } },
  })
  const other = await startNode((_heard, _nth, response) => response.end('<html>'))
  onTestFinished(() => other.close())
  expect(await refusal(nodeStatus({ baseUrl: other.url }))).toMatchObject({ code: 'bad_response' })
})
