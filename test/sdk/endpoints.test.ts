/** The short methods of the SDK at a real node: everything an agent and its owner do besides messages. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  Bridge,
  type BridgeOptions,
  encodeDevice,
  enroll,
  generateKeyPair,
  guideTopics,
  Identity,
  memorySessions,
  Owner,
} from '../../sdk/program.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
import { bridgeOf, Ear, sessionsOf } from '../support/sdk-listener.ts'

let bridge: TestBridge
let owner: Owner
beforeAll(async () => {
  bridge = await startBridge()
  owner = await Owner.signIn({ baseUrl: bridge.url, name: ownerName, password: ownerPassword })
})
afterAll(async () => {
  await owner.close()
  await bridge.close()
})

const recipients = [
  'age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj',
  'age1lggyhqrw2nlhcxprm67z43rta597azn8gknawjehu9d9dl0jq3yqqvfafg',
] as const

describe('guides', () => {
  test.each(guideTopics)('the guide %s is a text about that topic', async (topic) => {
    await using client = bridgeOf(bridge.ada)
    const guide = await client.guides.get(topic)
    expect(guide).toMatchObject({ topic, version: expect.any(String) })
    expect(guide.instructions.length).toBeGreaterThan(100)
  })
})

describe('the schedule of an agent', () => {
  test('is declared and shown to others', async () => {
    const agent = await bridge.agent('scheduled')
    await using client = bridgeOf(agent)
    const declared = await client.schedule({ mode: 'short_poll', interval_seconds: 300 })
    expect(declared).toMatchObject({
      schedule: { mode: 'short_poll', interval_seconds: 300 },
      connection: { next_contact: { kind: 'scheduled', overdue: false } },
    })
    expect(await client.schedule({ mode: 'checkpoint' })).toMatchObject({
      connection: { next_contact: { kind: 'after_current_work_step' } },
    })
  })

  test('is refused below five seconds', async () => {
    await using client = bridgeOf(bridge.ada)
    await expect(client.schedule({ mode: 'short_poll', interval_seconds: 4 })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })
})

describe('recipient keys', () => {
  test('are registered once, read by the other side, and replaced by the owner only', async () => {
    const [keeper, reader] = [await bridge.agent('keeper'), await bridge.agent('reader')]
    await using client = bridgeOf(keeper)
    await using other = bridgeOf(reader)
    const conversation = await other.conversations.open(keeper.id)
    await expect(other.recipientKeys.ofConversation(conversation.id)).rejects.toMatchObject({
      code: 'not_found',
    })

    const registered = await client.recipientKeys.register(recipients[0])
    expect(registered).toMatchObject({
      agent_id: keeper.id,
      recipient: recipients[0],
      registered_by: 'agent',
    })
    expect(await client.recipientKeys.register(recipients[0])).toEqual(registered)
    await expect(client.recipientKeys.register(recipients[1])).rejects.toMatchObject({
      code: 'recipient_key_conflict',
    })
    expect(await other.recipientKeys.ofConversation(conversation.id)).toEqual(registered)

    const set = await owner.recipientKeys.set(bridge.project.id, keeper.id, recipients[1])
    expect(set).toMatchObject({ recipient: recipients[1], registered_by: 'owner' })
    expect(await other.recipientKeys.ofConversation(conversation.id)).toEqual(set)
  })

  test('of another form are refused', async () => {
    await using client = bridgeOf(bridge.ada)
    await expect(client.recipientKeys.register('age1pq1qqqq')).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })
})

describe('legacy credentials', () => {
  test('are issued with a secret that is shown once, prove an identity, and are revoked', async () => {
    const agent = await bridge.agent('legacy')
    const issued = await owner.credentials.issue(bridge.project.id, agent.id, { kind: 'legacy' })
    expect(issued.credential).toMatchObject({ agent_id: agent.id, binding: 'legacy' })
    const { server_id, agent: named, project } = agent.enrolled as never as Identity['record']
    const record = {
      server_id,
      agent: named,
      project,
      credential_id: issued.credential.id,
      binding: 'legacy' as const,
      scopes: issued.credential.scopes,
    }
    await using client = new Bridge({
      baseUrl: bridge.url,
      identity: new Identity(record, { secret: issued.secret }),
    })
    expect((await client.bootstrap.get()).agent.id).toBe(agent.id)
    const ear = new Ear(client)
    await ear.on('socket')
    await owner.credentials.revoke(bridge.project.id, issued.credential.id)
    expect(await ear.ended).toMatchObject({ code: 'credential_revoked' })
    expect(JSON.stringify(client) + String(await ear.ended)).not.toContain(issued.secret)
  })
})

describe('takeovers', () => {
  test('fence the session, and only the grant starts the next one, once', async () => {
    const agent = await bridge.agent('taken')
    await using first = bridgeOf(agent)
    await using second = bridgeOf(agent, { sessions: memorySessions(randomUUID()) })
    const { grant, fenced_session_id } = await owner.takeovers.issue(bridge.project.id, agent.id, {
      reason: 'its machine is lost',
    })
    expect(fenced_session_id).toBe(agent.session?.id)
    await expect(first.inbox.read()).rejects.toMatchObject({ code: 'session_fenced' })
    await expect(second.sessions.start()).rejects.toMatchObject({ code: 'takeover_pending' })
    const [started, shared] = await Promise.allSettled([
      second.sessions.start({ takeoverGrant: grant }),
      second.sessions.start(),
    ])
    expect(started).toMatchObject({ value: { generation: (agent.session?.generation ?? 0) + 1 } })
    expect(shared).toMatchObject({ value: { generation: (agent.session?.generation ?? 0) + 1 } })
    expect((await second.inbox.read()).messages).toEqual([])
    const again = await second.sessions.start({ takeoverGrant: grant })
    expect(again).toMatchObject({ resumed: true, replaced_session_id: fenced_session_id })
    await expect(first.sessions.start({ takeoverGrant: grant })).rejects.toMatchObject({
      code: 'grant_invalid',
      status: 401,
    })
  })
})

describe('a device-bound identity', () => {
  const device = encodeDevice({ os: 'linux', machine: 'ab'.repeat(32), install: randomUUID() })

  async function enrolled(name: string, options: Partial<BridgeOptions> = {}) {
    const { id } = await bridge.owner.createAgent(bridge.project.id, name)
    const code = await bridge.owner.enrollmentCode(bridge.project.id, id, { binding: 'device' })
    const { privateKey } = generateKeyPair()
    const record = await enroll({ baseUrl: bridge.url, code, privateKey, device })
    const at = (on: string, sessions = memorySessions(randomUUID())) =>
      new Bridge({
        baseUrl: bridge.url,
        identity: new Identity(record, { privateKey, device: on }),
        sessions,
        ...options,
      })
    return { id, at }
  }

  test('requests a challenge before every start and resume, and listens on every transport', async () => {
    const { id, at } = await enrolled('device')
    const sessions = memorySessions(randomUUID())
    await using client = at(device, sessions)
    const started = await client.sessions.start()
    expect(started).toMatchObject({ generation: 1, resumed: false })
    expect(await client.sessions.start()).toMatchObject({ id: started.id, resumed: true })
    for (const transport of ['socket', 'sse', 'long-poll'] as const) {
      await bridge.owner.message(bridge.project.id, id, transport)
      for await (const message of client.listen({ transports: [transport] })) {
        expect(message.body).toBe(transport)
        await message.acknowledge()
        break
      }
    }
  })

  test('starts its session automatically when it listens', async () => {
    const { id, at } = await enrolled('device-listens')
    await using client = at(device)
    const ear = new Ear(client)
    await ear.on('socket')
    await bridge.owner.message(bridge.project.id, id, 'hello')
    await ear.heard('hello')
    await ear.stop()
  })

  test('may have another operating system version, and is refused on another machine', async () => {
    const { at } = await enrolled('device-moves')
    const install = JSON.parse(device).install as string
    await using upgraded = at(encodeDevice({ os: 'linux 7', machine: 'ab'.repeat(32), install }))
    expect(await upgraded.sessions.start()).toMatchObject({ resumed: false })
    await using elsewhere = at(encodeDevice({ os: 'linux', machine: 'cd'.repeat(32), install }))
    await expect(elsewhere.sessions.start()).rejects.toMatchObject({ code: 'device_mismatch' })
    await expect(elsewhere.listen().next()).rejects.toMatchObject({ code: 'device_mismatch' })
  })

  test('uses a given challenge once', async () => {
    const { at } = await enrolled('device-by-hand')
    await using client = at(device)
    const { challenge } = await client.sessions.challenge()
    expect(await client.sessions.start({ challenge })).toMatchObject({ generation: 1 })
    await expect(client.sessions.start({ challenge })).rejects.toMatchObject({ code: 'challenge_invalid' })
  })

  test('is required for a challenge: a key-bound identity gets none', async () => {
    await using client = bridgeOf(bridge.ben, { sessions: sessionsOf(bridge.ben) })
    await expect(client.sessions.challenge()).rejects.toMatchObject({ code: 'state_conflict' })
  })
})
