/**
 * Every transport has the same behaviour: order, redelivery, receipts, acknowledgement, and the refusals that
 * end listening.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { httpFetch } from '../../../cli/startup/http-fetch.ts'
import type { Bridge, ListenTransport } from '../../../sdk/index.ts'
import { BridgeError } from '../../../sdk/index.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'

let bridge: TestBridge
let open: { ear: Ear; client: Bridge }[] = []

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())
afterEach(async () => {
  for (const { ear, client } of open) {
    await ear.stop()
    await client.close()
  }
  open = []
})

let named = 0
const someone = (): Promise<TestAgent> => bridge.agent(`agent-${++named}`)

function listen(agent: TestAgent, transport: ListenTransport): { ear: Ear; client: Bridge } {
  const client = bridgeOf(agent, { transports: [transport] })
  const pair = { ear: new Ear(client), client }
  open.push(pair)
  return pair
}

const tell = (agent: TestAgent, text: string) => bridge.owner.message(bridge.project.id, agent.id, text)

describe.each(['socket', 'sse', 'long-poll'] as const)('over %s', (transport) => {
  test('stored messages arrive immediately and in order, and new ones when they are stored', async () => {
    const agent = await someone()
    const texts = Array.from({ length: 120 }, (_, nth) => `stored ${nth}`)
    for (const text of texts) await tell(agent, text)
    const { ear } = listen(agent, transport)
    await ear.heard('stored 119')
    await tell(agent, 'new')
    await ear.heard('new')
    expect(ear.bodies).toEqual([...texts, 'new'])
    expect(ear.transports).toEqual([transport])
    expect(ear.messages.every(({ delivery }) => delivery.attempt === 1)).toBe(true)
  })

  test('an unacknowledged message arrives again with its attempt, and an acknowledged one does not', async () => {
    const agent = await someone()
    const { ear } = listen(agent, transport)
    await tell(agent, 'kept')
    await tell(agent, 'done')
    await ear.heard('done')
    await ear.messages.find(({ body }) => body === 'done')?.acknowledge()
    bridge.clock.advance(61)
    // A message after each delivery marks its end.
    await tell(agent, 'after the interval')
    await ear.until('the redelivery', () => ear.messages.some(({ delivery }) => delivery.attempt === 2))
    await ear.heard('after the interval')
    const again = ear.messages.filter(({ delivery }) => delivery.attempt > 1)
    expect(again.map(({ body }) => body)).toEqual(['kept'])
  })

  test.each([
    ['a revoked credential', 'credential_revoked', 401],
    ['a disabled agent', 'agent_disabled', 403],
    ['a takeover', 'session_fenced', 409],
  ])('%s ends listening permanently with its own error', async (_what, code, status) => {
    const agent = await someone()
    const { ear, client } = listen(agent, transport)
    await tell(agent, 'before')
    await ear.heard('before')
    const { project, owner } = bridge
    const target = `/api/admin/projects/${project.id}`
    const ends: Record<string, () => Promise<unknown>> = {
      credential_revoked: () =>
        owner.ok({ target: `${target}/credentials/${agent.enrolled.credential_id}/revoke`, body: {} }),
      agent_disabled: () =>
        owner.ok({ target: `${target}/agents/${agent.id}/state`, body: { state: 'disabled' } }),
      session_fenced: () => owner.ok({ target: `${target}/agents/${agent.id}/takeover`, body: {} }),
    }
    await ends[code]?.()
    const error = await ear.ended
    expect(error).toBeInstanceOf(BridgeError)
    expect(error).toMatchObject({ code, status, retry: 'never' })
    await expect(client.listen({ transports: [transport] }).next()).rejects.toMatchObject({ status })
  })

  test('an abort ends listening immediately and leaves no open wait', async () => {
    const agent = await someone()
    const { ear, client } = listen(agent, transport)
    await tell(agent, 'here')
    await ear.heard('here')
    await ear.stop()
    expect(await ear.ended).toMatchObject({ name: 'LocalError', code: 'aborted' })
    await client.close()
    await expect.poll(() => isListening(agent)).toBe(false)
  })

  test('a loop that stops reading leaves no open wait either', async () => {
    const agent = await someone()
    await tell(agent, 'one')
    const client = bridgeOf(agent, { transports: [transport] })
    for await (const message of client.listen()) {
      expect(message.body).toBe('one')
      break
    }
    await client.close()
    await expect.poll(() => isListening(agent)).toBe(false)
  })
})

/**
 * Whether a wait is open. A wait that ended less than five seconds ago counts too, so the clock moves past
 * that.
 */
async function isListening(agent: TestAgent): Promise<boolean> {
  bridge.clock.advance(6)
  const target = `/api/admin/projects/${bridge.project.id}/agents/${agent.id}`
  return (await bridge.owner.ok<{ connection: { listening_now: boolean } }>({ target })).connection
    .listening_now
}

describe.each(['socket', 'sse'] as const)('receipts over %s', (transport) => {
  test('the sender receives the acknowledgement', async () => {
    const [sender, reader] = [await someone(), await someone()]
    const { ear } = listen(sender, transport)
    await ear.on(transport)
    const sent = await sender.send(await sender.conversationWith(reader.id), reader.id, 'a question')
    const reading = listen(reader, transport)
    await reading.ear.heard('a question')
    await reading.ear.messages[0]?.acknowledge()
    await ear.until('the receipt', () => ear.receipts.length > 0)
    expect(ear.receipts).toEqual([{ message_id: sent.id, acknowledged_at: expect.any(String) }])
  })

  test("an error thrown by the listener's callback ends listening with that error", async () => {
    const [sender, reader] = [await someone(), await someone()]
    const client = bridgeOf(sender, { transports: [transport] })
    const ear = new Ear(client, {
      onReceipts: () => {
        throw new RangeError('cannot use it')
      },
    })
    open.push({ ear, client })
    await ear.on(transport)
    const sent = await sender.send(await sender.conversationWith(reader.id), reader.id, 'a question')
    await reader.ok({ target: '/api/v1/acknowledgements', body: { message_ids: [sent.id] }, key: null })
    expect(await ear.ended).toEqual(new RangeError('cannot use it'))
  })
})

test('the fetch of the command line reads an event stream too, and closes it', async () => {
  const agent = await someone()
  const client = bridgeOf(agent, { fetch: httpFetch(), transports: ['sse'] })
  const ear = new Ear(client)
  await ear.on('sse')
  await tell(agent, 'by http.request')
  await ear.heard('by http.request')
  await ear.stop()
  await expect.poll(() => isListening(agent)).toBe(false)
})

test('listening ends when the project is archived', async () => {
  const project = await bridge.owner.createProject('to be archived')
  const agent = await bridge.agent('archivist', project.id)
  const { ear } = listen(agent, 'socket')
  await ear.on('socket')
  await bridge.owner.ok({ target: `/api/admin/projects/${project.id}/state`, body: { state: 'archived' } })
  expect(await ear.ended).toMatchObject({ code: 'project_archived', status: 410 })
})
