/**
 * The order of checks, pair by pair: a request with two faults is refused for the one that is checked first.
 *
 * "Order: framing, route 404, method 405, Origin 403, header shape, credential, time, body size 413, proof,
 * nonce, rate, admission (agent, project, scope, session), schema 422; then the stored idempotent answer, the
 * resource 404, pause and guards, state 409/410." Contract §2. The place of the rate is tested in
 * identity/rates.test.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import { contract } from '../../../sdk/contract/index.ts'
import { limits } from '../../../sdk/contract/limits.ts'
import { enroll } from '../../support/agent.ts'
import type { Reply } from '../../support/http.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { unknownId } from '../endpoints/case.ts'
import { type Ready, send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

/** A fault of a request, or of the state that it meets. */
interface Wrong {
  readonly code: ErrorCode
  /** Distinguishes faults with the same code. */
  readonly path?: string
  /** The state that the world must have. */
  readonly state?: State
  readonly change?: (ready: Ready) => Ready | Promise<Ready>
}

type State = 'disabled' | 'archived' | 'unscoped' | 'paused' | 'spent' | 'unpaired'

const withHeaders =
  (override: Record<string, string | null>, extra: [string, string][] = []) =>
  (ready: Ready) => ({
    ...ready,
    override: { ...ready.override, ...override },
    extra: [...(ready.extra ?? []), ...extra],
  })

const withBody = (change: object) => (ready: Ready) => ({
  ...ready,
  body: { ...(ready.body as object), ...change },
})

const framing: Wrong = {
  code: 'invalid_request',
  path: 'header content-encoding',
  change: withHeaders({}, [['Content-Encoding', 'gzip']]),
}
const route: Wrong = { code: 'not_found', change: (ready) => ({ ...ready, target: '/api/v1/nobody' }) }
const method: Wrong = { code: 'method_not_allowed', change: (ready) => ({ ...ready, method: 'PUT' }) }
const size: Wrong = { code: 'body_too_large', change: withBody({ body: 'a'.repeat(limits.jsonBodyBytes) }) }
const schema: Wrong = { code: 'invalid_request', path: 'body/surplus', change: withBody({ surplus: 1 }) }

const usedNonce = async (ready: Ready): Promise<Ready> => {
  const nonce = crypto.randomUUID().replaceAll('-', '')
  if ('keys' in ready.by) await ready.by.call({ target: '/api/v1/bootstrap', session: null, nonce })
  return { ...ready, nonce }
}

/** In the order of the checks. */
const agentFaults: Record<string, Wrong> = {
  framing,
  route,
  method,
  'header shape': {
    code: 'invalid_request',
    path: 'header Idempotency-Key',
    change: withHeaders({ 'Idempotency-Key': '-' }),
  },
  credential: { code: 'credential_unknown', change: withHeaders({ Authorization: `AgentKey ${unknownId}` }) },
  time: { code: 'clock_skew', change: (ready) => ({ ...ready, time: 1_700_000_000 }) },
  'body size': size,
  proof: { code: 'signature_invalid', change: withHeaders({ 'X-Bridge-Proof': 'A'.repeat(86) }) },
  nonce: { code: 'request_replayed', change: usedNonce },
  agent: { code: 'agent_disabled', state: 'disabled' },
  project: { code: 'project_archived', state: 'archived' },
  scope: { code: 'scope_missing', state: 'unscoped' },
  session: { code: 'session_unknown', change: (ready) => ({ ...ready, session: unknownId }) },
  schema,
  resource: { code: 'not_found', change: withBody({ conversation_id: unknownId }) },
  pause: { code: 'project_paused', state: 'paused' },
  guard: { code: 'conversation_budget', state: 'spent' },
  state: { code: 'pairing_disabled', state: 'unpaired' },
}

const ownerFaults: Record<string, Wrong> = {
  framing,
  route,
  method,
  Origin: { code: 'origin_mismatch', change: withHeaders({ Origin: 'null' }) },
  'header shape': agentFaults['header shape'] as Wrong,
  credential: { code: 'owner_session_expired', change: withHeaders({ Cookie: null }) },
  'body size': size,
  schema,
  resource: { code: 'not_found', change: withBody({ recipient_agent_id: unknownId }) },
  state: { code: 'project_archived', state: 'archived' },
}

const pairsOf = (faults: Record<string, Wrong>) => {
  const all = Object.entries(faults)
  return all.flatMap(([first, one], index) =>
    all
      .slice(index + 1)
      // A project cannot be archived and paused.
      .filter(([, other]) => !(one.state === 'archived' && other.state === 'paused'))
      .map(([second, other]) => ({ first, second, one, other })),
  )
}

type States = readonly (State | undefined)[]

/** Refused requests change nothing, so all tests of the same states share one pair of agents. */
const pairs = new Map<string, ReturnType<typeof talking>>()

function pairIn(states: States) {
  const key = states.toSorted().join()
  const pair = pairs.get(key) ?? talking(states)
  pairs.set(key, pair)
  return pair
}

/** Creates two agents in the given states, with a request that one would send the other. */
async function talking(states: States) {
  const project = await world.owner.createProject(
    world.name('project'),
    states.includes('spent') ? { policy: { message_budget: 1 } } : {},
  )
  let ada = await world.agent(project.id)
  const ben = await world.agent(project.id)
  const pair = { project, ada, ben, conversation: await ada.conversationWith(ben.id) }
  if (states.includes('spent')) await ada.send(pair.conversation, ben.id, 'the only one')
  if (states.includes('unpaired')) await world.setPairing(pair, false)
  if (states.includes('unscoped')) ada = await enrolledAgain(project.id, ada.id, ['transfers'])
  if (states.includes('disabled')) await world.setAgent(project.id, ada.id, 'disabled')
  if (states.includes('paused')) await world.setProject(project.id, 'paused')
  if (states.includes('archived')) await world.setProject(project.id, 'archived')
  return { ...pair, ada }
}

async function enrolledAgain(projectId: string, agentId: string, scopes: string[]) {
  const code = await world.owner.enrollmentCode(projectId, agentId, { scopes })
  const agent = await enroll(world.bridge.url, code, world.bridge.clock)
  await agent.startSession()
  return agent
}

async function agentReady(states: States): Promise<Ready> {
  const { ada, ben, conversation } = await pairIn(states)
  return {
    by: ada,
    body: { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: 'hello' },
  }
}

async function ownerReady(states: States): Promise<Ready> {
  const { ada, project } = await pairIn(states)
  return {
    by: world.owner,
    params: { id: project.id },
    body: { recipient_agent_id: ada.id, body: 'hello' },
  }
}

/** Returns the request with both faults; the later one is applied first. */
async function both(ready: Ready, { one, other }: { one: Wrong; other: Wrong }): Promise<Ready> {
  const wrong = await (other.change?.(ready) ?? ready)
  return one.change?.(wrong) ?? wrong
}

function expectFirst(reply: Reply, { code, path }: Wrong): void {
  const { details } = expectRefusal(reply, code)
  const paths = ((details?.faults ?? []) as { path: string }[]).map((fault) => fault.path)
  if (path !== undefined) expect(paths).toContain(path)
}

describe("an agent's request is refused", () => {
  test.each(pairsOf(agentFaults))('for $first before $second', async (pair) => {
    const ready = await agentReady([pair.one.state, pair.other.state])
    expectFirst(await send(contract.messages.send, await both(ready, pair)), pair.one)
  })

  test('never if it has no fault', async () => {
    expect((await send(contract.messages.send, await agentReady([]))).status).toBe(200)
  })
})

describe("an owner's request is refused", () => {
  test.each(pairsOf(ownerFaults))('for $first before $second', async (pair) => {
    const ready = await ownerReady([pair.one.state, pair.other.state])
    expectFirst(await send(contract.owner.messages.send, await both(ready, pair)), pair.one)
  })

  test('never if it has no fault', async () => {
    expect((await send(contract.owner.messages.send, await ownerReady([]))).status).toBe(200)
  })
})

describe('a nonce', () => {
  const { send: entry } = contract.messages
  const nonce = () => crypto.randomUUID().replaceAll('-', '')
  const twice = async (wrong: Partial<Ready>) => {
    const ready = { ...(await agentReady([])), nonce: nonce() }
    const first = await send(entry, { ...ready, ...wrong })
    return { first, second: await send(entry, ready) }
  }

  test('is spent by a valid proof over an invalid body', async () => {
    const { first, second } = await twice({ body: { surplus: 1 } })
    expectRefusal(first, 'invalid_request')
    expectRefusal(second, 'request_replayed')
  })

  test('is spent by a valid proof over a body that is not JSON', async () => {
    const { first, second } = await twice({ body: '{' })
    expectRefusal(first, 'invalid_request')
    expectRefusal(second, 'request_replayed')
  })

  test('is spent by a valid proof that the handler then refuses', async () => {
    const { by } = await agentReady([])
    const ready = { by, params: { id: unknownId }, nonce: nonce() }
    expectRefusal(await send(contract.messages.get, ready), 'not_found')
    expectRefusal(await send(contract.messages.get, ready), 'request_replayed')
  })

  test('is not spent by an invalid proof, nor by a body that is too long to be proven', async () => {
    const forged = await twice({ override: { 'X-Bridge-Proof': 'A'.repeat(86) } })
    expectRefusal(forged.first, 'signature_invalid')
    expect(forged.second.status).toBe(200)
    const long = await twice({ body: 'a'.repeat(limits.jsonBodyBytes + 1) })
    expectRefusal(long.first, 'body_too_large')
    expect(long.second.status).toBe(200)
  })

  test('that is used again is a replay for any body', async () => {
    const ready = { ...(await agentReady([])), nonce: nonce() }
    expect((await send(entry, ready)).status).toBe(200)
    expectRefusal(await send(entry, { ...ready, body: '{' }), 'request_replayed')
    expectRefusal(await send(entry, { ...ready, body: { surplus: 1 } }), 'request_replayed')
  })
})

describe('a stored answer', () => {
  const { send: entry } = contract.messages
  const answered = async () => {
    const pair = await talking([])
    const { ada, ben, conversation } = pair
    const ready: Ready = {
      by: ada,
      key: crypto.randomUUID(),
      body: { conversation_id: conversation, recipient_agent_id: ben.id, type: 'note', body: 'hello' },
    }
    const first = await send(entry, ready)
    expect([first.status, first.headers['idempotency-replayed']]).toEqual([200, undefined])
    return { pair, ready, first }
  }

  test('is repeated, byte for byte, after the state has changed', async () => {
    const { pair, ready, first } = await answered()
    await world.setPairing(pair, false)
    await world.setProject(pair.project.id, 'paused')
    const again = await send(entry, ready)
    expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([
      200,
      first.text,
      'true',
    ])
  })

  test('is not repeated for another body, even one that names unknown objects', async () => {
    const { ready } = await answered()
    const other = withBody({ conversation_id: unknownId })(ready)
    expectRefusal(await send(entry, other), 'idempotency_conflict')
  })

  test('is not repeated to an agent that is fenced, revoked or disabled', async () => {
    const { pair, ready } = await answered()
    await world.setAgent(pair.project.id, pair.ada.id, 'disabled')
    expectRefusal(await send(entry, ready), 'agent_disabled')
    await world.setAgent(pair.project.id, pair.ada.id, 'enabled')
    expectRefusal(await send(entry, ready), 'session_fenced')
    const { credential_id } = pair.ada.enrolled
    const target = `/api/admin/projects/${pair.project.id}/credentials/${credential_id}/revoke`
    await world.owner.ok({ target, body: {} })
    expectRefusal(await send(entry, ready), 'credential_revoked')
  })

  test('is not repeated to another agent with the same key', async () => {
    const { pair, ready, first } = await answered()
    const { ada, ben, conversation } = pair
    const mirrored = {
      conversation_id: conversation,
      recipient_agent_id: ada.id,
      type: 'note',
      body: 'hello',
    }
    const others = await send(entry, { ...ready, by: ben, body: mirrored })
    expect([others.status, others.headers['idempotency-replayed']]).toEqual([200, undefined])
    expect(others.text).not.toBe(first.text)
  })

  test('does not exist if the first attempt was refused', async () => {
    const { by, body } = await agentReady([])
    const key = crypto.randomUUID()
    expectRefusal(
      await send(entry, { by, key, body: { ...(body as object), conversation_id: unknownId } }),
      'not_found',
    )
    const second = await send(entry, { by, key, body })
    expect([second.status, second.headers['idempotency-replayed']]).toEqual([200, undefined])
  })
})
