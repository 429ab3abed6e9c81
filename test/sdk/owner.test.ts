/** The owner's client against a real server, and against servers that are no bridge. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  type Fetch,
  type FetchInit,
  type KeptSignIn,
  nodeStatus,
  Owner,
  pooledFetch,
} from '../../sdk/program.ts'
import { readConfig } from '../../server/config.ts'
import { initServer } from '../../server/host/init.ts'
import { startServer } from '../../server/server.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { answerJson, startNode } from '../support/fake-node.ts'
import { codeOf, ownerName, ownerPassword } from '../support/owner.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})

afterAll(async () => {
  await bridge.close()
})

async function signIn(fetch?: Fetch): Promise<Owner> {
  const credentials = { baseUrl: bridge.url, name: ownerName, password: ownerPassword }
  const owner = await Owner.signIn({ ...credentials, fetch })
  onTestFinished(() => owner.close())
  return owner
}

const kept = (owner: Owner): KeptSignIn => {
  const found = owner.keep()
  if (found === undefined) throw new Error('the owner is not signed in')
  return found
}

function resume(from: KeptSignIn, fetch?: Fetch): Owner {
  const owner = Owner.resume(from, { fetch })
  onTestFinished(() => owner.close())
  return owner
}

/** A `fetch` that records its requests. */
function recording() {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const sent: { url: string; init: FetchInit }[] = []
  const fetch: Fetch = (url, init) => {
    sent.push({ url, init })
    return pool.fetch(url, init)
  }
  return { sent, fetch }
}

const refusal = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: Error) => error,
  )

test('a fresh node is set up once with the token of its link', async () => {
  const data = await mkdtemp(join(tmpdir(), 'bridge-owner-'))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  const config = readConfig({ data, port: '0', log_level: 'silent', reserve_bytes: '0' }, {})
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
  const owner = await signIn()
  expect(await owner.signIn.current()).toEqual(owner.session)
  const wrong = await refusal(
    Owner.signIn({ baseUrl: bridge.url, name: ownerName, password: 'wrong password, really' }),
  )
  expect(wrong).toMatchObject({ name: 'BridgeError', code: 'sign_in_failed', status: 401 })
  expect(inspect(wrong)).not.toContain('wrong password, really')
})

test('the Origin is on every POST, and the cookie only on requests of a signed-in owner', async () => {
  const { sent, fetch } = recording()
  const owner = await signIn(fetch)
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
  const other = resume({ ...kept(await signIn()), portal_origin: 'https://portal.example' })
  expect((await other.signIn.current()).user.name).toBe(ownerName)
  expect(await refusal(other.projects.create({ name: 'elsewhere' }))).toMatchObject({
    code: 'origin_mismatch',
  })
})

test('a confirmation changes the cookie, and a wrong password does not', async () => {
  const { sent, fetch } = recording()
  const owner = await signIn(fetch)
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
  const owner = await signIn(async (url, init) => {
    if (url.endsWith('/api/admin')) await late.promise
    return pool.fetch(url, init)
  })
  const crossing = owner.projects.list()
  await owner.signIn.confirm(ownerPassword)
  late.resolve()
  expect((await crossing).projects.map(({ id }) => id)).toContain(bridge.project.id)
})

test('after a confirmation in another process the stored sign-in is read again, once per call, and only for the same node', async () => {
  const owner = await signIn()
  const before = kept(owner)
  let stored: KeptSignIn | undefined = before
  let reads = 0
  const reload = async () => {
    reads += 1
    return stored
  }
  const beside = Owner.resume(before, { reload })
  onTestFinished(() => beside.close())
  await beside.signIn.current()
  expect(reads).toBe(0)
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

test('inspecting, serializing or failing reveals nothing of the session', async () => {
  const owner = await signIn()
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
  const first = kept(await signIn())
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
  const owner = await signIn(fetch)
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
  const owner = await signIn()
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

test('an owner creates projects, environments and agents, and finds them again page by page', async () => {
  const owner = await signIn()
  const project = await owner.projects.create({ name: 'paged', policy: { idle_seconds: 60 } })
  const environment = await owner.environments.create(project.id, { name: 'desk', kind: 'laptop' })
  const wished = ['eve', 'fay', 'gus']
  for (const name of wished) await owner.agents.create(project.id, { name, environment_id: environment.id })
  const first = await owner.agents.list(project.id, { limit: 2 })
  expect(first).toMatchObject({ has_more: true, agents: [{ name: 'eve' }, { name: 'fay' }] })
  const rest = await owner.agents.list(project.id, { limit: 2, after: first.next_after ?? '' })
  expect(rest).toMatchObject({ has_more: false, agents: [{ name: 'gus' }] })
  const all: string[] = []
  for await (const { name } of owner.agents.all(project.id)) all.push(name)
  expect(all).toEqual(wished)
  expect(await refusal(owner.agents.create(project.id, { name: 'eve' }))).toMatchObject({
    code: 'name_taken',
  })
  expect(await refusal(owner.agents.get(project.id, bridge.ada.id))).toMatchObject({ code: 'not_found' })
})

test('a message whose answer was lost is stored once, with one key', async () => {
  const pool = pooledFetch()
  onTestFinished(() => pool.close())
  const keys: (string | undefined)[] = []
  const losingFirst: Fetch = async (url, init) => {
    const response = await pool.fetch(url, init)
    if (!url.endsWith('/messages')) return response
    keys.push(init.headers['Idempotency-Key'])
    if (keys.length > 1) return response
    await response.text()
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
  }
  const owner = await signIn(losingFirst)
  const note = { recipient_agent_id: bridge.ben.id, body: 'only once' }
  const stored = await owner.messages.send(bridge.project.id, note)
  expect(keys).toHaveLength(2)
  expect(keys[0]).toBe(keys[1])
  const { messages } = await owner.conversations.history(bridge.project.id, stored.conversation_id)
  expect(messages.filter(({ body }) => body === 'only once').map(({ id }) => id)).toEqual([stored.id])

  const options = { idempotencyKey: 'key-of-the-test' }
  await owner.messages.send(bridge.project.id, note, options)
  const other = { ...note, body: 'another text' }
  expect(await refusal(owner.messages.send(bridge.project.id, other, options))).toMatchObject({
    code: 'idempotency_conflict',
  })
})

test('the owner reads a conversation in both directions and acknowledges messages to the owner', async () => {
  const owner = await signIn()
  const { id: projectId } = bridge.project
  const { conversation_id } = await owner.messages.send(projectId, {
    recipient_agent_id: bridge.ada.id,
    body: 'well?',
  })
  const answer = await bridge.ada.send(conversation_id, bridge.ada.id, 'well!')
  const place = { afterSequence: answer.sequence - 1 }
  const forward = await owner.conversations.history(projectId, conversation_id, place)
  expect(forward).toMatchObject({ messages: [{ id: answer.id, sender: { kind: 'agent', name: 'ada' } }] })
  const backward = await owner.conversations.history(projectId, conversation_id, {
    beforeSequence: answer.sequence,
  })
  expect(backward.messages.at(-1)).toMatchObject({ body: 'well?', sender: { kind: 'owner' } })
  const both = { afterSequence: 1, beforeSequence: 2 }
  expect(await refusal(owner.conversations.history(projectId, conversation_id, both))).toMatchObject({
    code: 'invalid_request',
  })
  expect(await owner.messages.acknowledge(projectId, [answer.id])).toEqual({
    acknowledged: [answer.id],
    already: [],
  })
  expect(await owner.messages.acknowledge(projectId, [answer.id])).toEqual({
    acknowledged: [],
    already: [answer.id],
  })
  const own = backward.messages.at(-1)?.id ?? ''
  expect(await refusal(owner.messages.acknowledge(projectId, [own]))).toMatchObject({ code: 'not_found' })
})

test('credentials, pairings and sessions are listed, changed and refused', async () => {
  const owner = await signIn()
  const { id: projectId } = bridge.project
  const [ada, ben] = [bridge.ada.id, bridge.ben.id]
  expect(await owner.pairings.set(projectId, [ben, ada], false)).toMatchObject({ enabled: false })
  expect((await owner.pairings.list(projectId)).pairings).toContainEqual(
    expect.objectContaining({ enabled: false }),
  )
  expect(await owner.pairings.set(projectId, [ada, ben], true)).toMatchObject({ enabled: true })
  expect(await refusal(owner.pairings.set(projectId, [ada, projectId], true))).toMatchObject({
    code: 'not_found',
  })

  const { credentials } = await owner.credentials.list(projectId)
  expect(credentials).toContainEqual(
    expect.objectContaining({ agent_id: ada, binding: 'key', revoked_at: null }),
  )
  expect(await refusal(owner.credentials.revoke(projectId, ada))).toMatchObject({ code: 'not_found' })

  const another = await signIn()
  const { id = '' } = another.session ?? {}
  expect(await owner.signIn.revoke(id)).toMatchObject({ id })
  expect(await refusal(another.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(await refusal(owner.signIn.revoke(projectId))).toMatchObject({ code: 'not_found' })
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
  const owner = resume({ ...kept(await signIn()), base_url: node.url })
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
  const before = { ...kept(await signIn()), base_url: node.url }
  const owner = resume(before)
  expect(await refusal(owner.signIn.current())).toMatchObject({ code: 'not_found' })
  expect(owner.keep()).toEqual(before)
})

test('an aborted call ends immediately', async () => {
  const owner = await signIn()
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

test('an owner assigns a project to a person who signs in by a link, and deletes it', async () => {
  const owner = await signIn()
  const project = await owner.projects.create({ name: 'handed over' })
  const { administrator, link, expires_at } = await owner.administrators.create({
    name: 'kim',
    ttl_seconds: 60,
  })
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now())
  expect(await owner.administrators.assign(administrator.id, project.id)).toMatchObject({
    has_password: false,
    project_ids: [project.id],
  })
  const kim = await Owner.signIn({ baseUrl: bridge.url, linkToken: new URL(link).hash.slice(1) })
  onTestFinished(() => kim.close())
  expect(kim.session?.user).toEqual({ id: administrator.id, name: 'kim', role: 'administrator' })
  const { agent } = await kim.agents.create(project.id, { name: 'ada' })
  const { updated_at } = await kim.agents.setInstructions(project.id, agent.id, 'Read once.')
  await kim.agents.setInstructions(project.id, agent.id, 'Read twice.', { ifUpdatedAt: updated_at })
  const late = kim.agents.setInstructions(project.id, agent.id, 'Lost.', { ifUpdatedAt: null })
  expect(await refusal(late)).toMatchObject({ code: 'state_conflict' })
  const desk = await kim.environments.create(project.id, { name: 'desk', kind: 'laptop' })
  expect(await kim.environments.change(project.id, 'desk', { kind: 'ci' })).toEqual({ ...desk, kind: 'ci' })
  expect(await kim.agents.change('handed over', 'ada', { environment_id: 'desk' })).toMatchObject({
    environment_id: desk.id,
  })
  expect(await kim.projects.change(project.id, { policy: { audit_days: 30 } })).toMatchObject({
    name: 'handed over',
    policy: { audit_days: 30 },
  })
  expect(await kim.agents.rename(project.id, agent.id, 'eva')).toEqual({ id: agent.id, name: 'eva' })
  expect((await kim.agents.instructions(project.id, agent.id)).rendered).toMatch(
    /^You are eva.*Read twice\.$/s,
  )
  const { enrollment_id } = await kim.enrollments.create(project.id, agent.id)
  const pending = []
  for await (const each of kim.enrollments.all(project.id, { state: 'pending' })) pending.push(each.id)
  expect(pending).toEqual([enrollment_id])
  expect(await kim.enrollments.revoke(project.id, enrollment_id)).toMatchObject({ state: 'revoked' })
  expect(await kim.enrollments.read(project.id, enrollment_id)).toMatchObject({ agent_id: agent.id })
  expect((await kim.transfers.list(project.id)).transfers).toEqual([])

  expect(await refusal(kim.projects.create({ name: 'another' }))).toMatchObject({ code: 'not_permitted' })
  expect(await refusal(kim.agents.list(bridge.project.id))).toMatchObject({ code: 'not_found' })
  expect(await refusal(owner.projects.delete(project.id, 'Handed over'))).toMatchObject({
    code: 'invalid_request',
  })
  await owner.administrators.unassign(administrator.id, project.id)
  expect(await refusal(kim.agents.list(project.id))).toMatchObject({ code: 'not_found' })
  await owner.administrators.setState(administrator.id, 'disabled')
  expect(await refusal(kim.signIn.current())).toMatchObject({ code: 'owner_session_expired' })
  expect(await owner.projects.delete(project.id, 'handed over')).toMatchObject({ id: project.id })
})
