/**
 * Device-bound identities: request-v2, the challenge of every start, and the device, which must match.
 *
 * Threats T13, T14; contract §3, §5.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { transports } from '../../support/streams.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const device = (fields: object = {}) =>
  JSON.stringify({ os: 'Linux 6.1', machine: 'a'.repeat(64), install: crypto.randomUUID(), ...fields })

const codeFor = async (binding: 'key' | 'device') => {
  names += 1
  const { id } = await bridge.owner.createAgent(bridge.project.id, `agent ${names}`)
  return bridge.owner.enrollmentCode(bridge.project.id, id, { binding })
}

const enrolled = async (its = device()): Promise<TestAgent> =>
  enroll(bridge.url, await codeFor('device'), bridge.clock, its)

const bootstrap = { target: '/api/v1/bootstrap', session: null } as const
const codeOf = ({ json }: { json: unknown }) => (json as { error: string }).error

test('a device-bound agent enrolls, gets a challenge, starts a session and sends requests', async () => {
  const agent = await enrolled()
  const session = await agent.startSession()
  expect(session).toMatchObject({ generation: 1, resumed: false })
  const { credential } = await agent.ok<{ credential: { binding: string } }>(bootstrap)
  expect(credential.binding).toBe('device')
  expect((await agent.inbox()).waiting).toBe(0)
})

test.each(transports)('a device-bound agent receives messages over the %s', async (_name, open) => {
  const agent = await enrolled()
  await agent.startSession()
  await bridge.owner.message(bridge.project.id, agent.id, 'welcome')
  const stream = open(agent)
  expect(await stream.messages(1)).toMatchObject([{ body: 'welcome' }])
  stream.close()
})

describe('the device', () => {
  const other: readonly [
    string,
    (its: Record<string, string>) => object | string | undefined,
    number,
    string,
  ][] = [
    ['on another machine', (its) => ({ ...its, machine: 'b'.repeat(64) }), 401, 'device_mismatch'],
    ['of another installation', (its) => ({ ...its, install: crypto.randomUUID() }), 401, 'device_mismatch'],
    ['with a field more', (its) => ({ ...its, user: 'root' }), 401, 'device_mismatch'],
    ['with a field less', ({ os: _, ...its }) => its, 401, 'device_mismatch'],
    ['that is no JSON', () => 'laptop', 401, 'device_mismatch'],
  ]
  test.each(other)('%s is refused', async (_what, change, status, code) => {
    const agent = await enrolled()
    await agent.startSession()
    const changed = change(JSON.parse(agent.device ?? '{}'))
    agent.device = typeof changed === 'string' ? changed : JSON.stringify(changed)
    const reply = await agent.call(bootstrap)
    expect([reply.status, codeOf(reply)]).toEqual([status, code])
  })

  test('may have a new operating system, also between challenge and start', async () => {
    const agent = await enrolled()
    const challenge = await agent.challenge()
    agent.device = JSON.stringify({ ...JSON.parse(agent.device ?? '{}'), os: 'Linux 7.0' })
    const reply = await agent.requestSession(undefined, { challenge })
    expect(reply.status).toBe(200)
  })

  test('is required', async () => {
    const agent = await enrolled()
    const reply = await agent.call({ ...bootstrap, override: { 'X-Bridge-Device': null } })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'device_mismatch'])
  })

  test('is signed, so its bytes cannot be changed in transit', async () => {
    const agent = await enrolled()
    const spaced = (agent.device ?? '').replace('{', '{ ')
    const reply = await agent.call({ ...bootstrap, override: { 'X-Bridge-Device': spaced } })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'signature_invalid'])
  })

  test('is refused for an identity that is bound to its key only', async () => {
    const reply = await bridge.ada.call({ ...bootstrap, extra: [['X-Bridge-Device', device()]] })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'device_mismatch'])
  })

  test('cannot be omitted by signing the older form', async () => {
    const agent = await enrolled()
    const its = agent.device ?? ''
    agent.device = undefined
    const reply = await agent.call({ ...bootstrap, extra: [['X-Bridge-Device', its]] })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'signature_invalid'])
  })
})

describe('the challenge', () => {
  const refused = async (agent: TestAgent, challenge?: string, instance?: string) => {
    const reply = await agent.requestSession(instance, challenge === undefined ? {} : { challenge })
    expect([reply.status, codeOf(reply)]).toEqual([401, 'challenge_invalid'])
  }

  test('is required to start', async () => refused(await enrolled()))

  test('is required to resume too', async () => {
    const agent = await enrolled()
    const { id } = await agent.startSession()
    await refused(agent)
    expect(await agent.startSession()).toMatchObject({ id, resumed: true })
  })

  test('cannot be guessed', async () => refused(await enrolled(), 'A'.repeat(43)))

  test('can be used once', async () => {
    const agent = await enrolled()
    const challenge = await agent.challenge()
    expect((await agent.requestSession(undefined, { challenge })).status).toBe(200)
    await refused(agent, challenge)
  })

  test('is accepted from one of fifty simultaneous starts', async () => {
    const agent = await enrolled()
    const challenge = await agent.challenge()
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => agent.requestSession(undefined, { challenge })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(new Set(replies.filter(({ status }) => status !== 200).map(codeOf))).toEqual(
      new Set(['challenge_invalid']),
    )
  })

  test("is refused for another agent's credential", async () => {
    const [one, two] = [await enrolled(), await enrolled()]
    await refused(two, await one.challenge())
  })

  test('is refused for another credential on the same device', async () => {
    const its = device()
    const [one, two] = [await enrolled(its), await enrolled(its)]
    await refused(two, await one.challenge())
  })

  test('expires after sixty seconds', async () => {
    const own = await startBridge()
    onTestFinished(own.clock.hold())
    const { id } = await own.owner.createAgent(own.project.id, 'late')
    const code = await own.owner.enrollmentCode(own.project.id, id, { binding: 'device' })
    const agent = await enroll(own.url, code, own.clock, device())
    const [kept, late] = [await agent.challenge(), await agent.challenge()]
    own.clock.advance(58)
    expect((await agent.requestSession(undefined, { challenge: kept })).status).toBe(200)
    own.clock.advance(3)
    await refused(agent, late)
    await own.close()
  })

  test('stays usable if the start was refused for another reason', async () => {
    const agent = await enrolled()
    await agent.startSession()
    const challenge = await agent.challenge()
    const busy = await agent.requestSession(crypto.randomUUID(), { challenge })
    expect(codeOf(busy)).toBe('session_active')
    expect((await agent.requestSession(undefined, { challenge })).status).toBe(200)
  })

  test('is neither issued to nor accepted from an identity without a device', async () => {
    const reply = await bridge.ada.call({
      target: '/api/v1/sessions/challenge',
      body: {},
      session: null,
      key: null,
    })
    expect([reply.status, codeOf(reply)]).toEqual([409, 'state_conflict'])
    const started = await bridge.ada.requestSession(undefined, { challenge: 'A'.repeat(43) })
    expect([started.status, codeOf(started)]).toEqual([422, 'invalid_request'])
  })

  test('is invalid once its credential is revoked', async () => {
    const agent = await enrolled()
    const challenge = await agent.challenge()
    await bridge.owner.revoke(bridge.project.id, agent.enrolled.credential_id)
    expect(codeOf(await agent.requestSession(undefined, { challenge }))).toBe('credential_revoked')
  })
})
