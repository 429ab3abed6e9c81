/** The main purpose, over real HTTP: send, offer, acknowledge, and the sender sees each step. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { isOnPostgres } from '../support/postgres.ts'

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

interface Delivery {
  delivery: {
    stored_at: string
    first_offered_at: string | null
    offers: number
    acknowledged_at: string | null
  }
}

test('a message is stored, then offered, then acknowledged, and its sender sees each', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const sent = await ada.send(conversation, ben.id, 'how many lines?')
  const status = async () => (await ada.ok<Delivery>({ target: `/api/v1/messages/${sent.id}` })).delivery

  expect(sent.sequence).toBe(1)
  expect(await status()).toMatchObject({ first_offered_at: null, offers: 0, acknowledged_at: null })

  const inbox = await ben.inbox('?wait_seconds=5')
  expect(inbox.messages.map((message) => message.body)).toEqual(['how many lines?'])
  await expect.poll(async () => (await status()).offers).toBe(1)
  expect((await status()).acknowledged_at).toBeNull()

  await ben.ok({ target: '/api/v1/acknowledgements', body: { message_ids: [sent.id] }, key: null })
  expect((await status()).acknowledged_at).not.toBeNull()
  expect((await ben.inbox()).messages).toEqual([])
})

test('a waiting reader gets a message as soon as it is stored', async () => {
  const { ada, ben } = bridge
  const conversation = await ada.conversationWith(ben.id)
  const waiting = ben.inbox('?wait_seconds=20')
  await expect
    .poll(() =>
      bridge.owner
        .ok<{ agents: { connection: { listening_now: boolean } }[] }>({
          target: `/api/admin/projects/${bridge.project.id}/agents`,
        })
        .then(({ agents }) => agents.some((agent) => agent.connection.listening_now)),
    )
    .toBe(true)
  const started = performance.now()
  await ada.send(conversation, ben.id, 'wake up')
  expect((await waiting).messages.map((message) => message.body)).toEqual(['wake up'])
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('the owner writes to an agent, the agent answers, the owner acknowledges', async () => {
  const { owner, ada, project } = bridge
  const message = await owner.message(project.id, ada.id, 'status please')
  const inbox = await ada.inbox('?wait_seconds=5')
  expect(inbox.messages).toMatchObject([{ body: 'status please', sender: { kind: 'owner', name: 'olu' } }])
  const answered = await ada.send(message.conversation_id, ada.id, 'all well')
  const acknowledged = await owner.ok({
    target: `/api/admin/projects/${project.id}/acknowledgements`,
    body: { message_ids: [answered.id] },
  })
  expect(acknowledged).toEqual({ acknowledged: [answered.id], already: [] })
})

test('the API description is served, and every answer carries its headers', async () => {
  const reply = await bridge.ada.call({ target: '/api/v1/bootstrap', session: null })
  expect(reply.status).toBe(200)
  expect(reply.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  expect(reply.headers['x-request-id']).toBeTruthy()
  const document = await bridge.ada.call({ target: '/api/openapi', session: null })
  expect(document.json).toMatchObject({ openapi: '3.1.0', info: { version: '1.2.0' } })
})

test('readiness and liveness are answered without a credential', async () => {
  const ready = await bridge.ada.call({ target: '/api/ready' })
  expect(ready.json).toEqual({
    ready: true,
    checks: { auth: true, envelope_key: true, migrations: true, database: true, storage: true, nodes: true },
    peers: isOnPostgres ? expect.stringMatching(/^(notified|polled)$/) : 'none',
    durability: 'local',
    packages: true,
  })
})
