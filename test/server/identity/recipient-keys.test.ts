/**
 * Recipient keys and guides.
 *
 * Threat T16, spec §2 "Guide response", §5 "Recipient keys", contract §9.
 */
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guideTopics } from '../../../sdk/contract/agent/guides.ts'
import type { TestAgent } from '../../support/agent.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'

let bridge: TestBridge
let names = 0

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const newRecipient = async () => identityToRecipient(await generateIdentity())
const register = (agent: TestAgent, recipient: unknown) =>
  agent.call({ target: '/api/v1/recipient-key', body: { recipient }, key: null })
const read = (agent: TestAgent, conversation: string) =>
  agent.call({ target: `/api/v1/conversations/${conversation}/recipient-key` })

async function pair() {
  names += 1
  const project = await bridge.owner.createProject(`project ${names}`)
  const ada = await bridge.agent('ada', project.id)
  const ben = await bridge.agent('ben', project.id)
  return { project, ada, ben, conversation: await ada.conversationWith(ben.id) }
}

const setByOwner = (projectId: string, agentId: string, recipient: string) =>
  bridge.owner.call({
    target: `/api/admin/projects/${projectId}/agents/${agentId}/recipient-key`,
    body: { recipient },
  })

test('a key is registered once: repeating it succeeds, and another key conflicts until the owner replaces it', async () => {
  const { project, ada, ben, conversation } = await pair()
  const [first, second, third] = [await newRecipient(), await newRecipient(), await newRecipient()]
  const registered = await register(ben, first)
  expect(registered.json).toMatchObject({ agent_id: ben.id, recipient: first, registered_by: 'agent' })
  expect((await register(ben, first)).text).toBe(registered.text)
  const conflict = await register(ben, second)
  expect([conflict.status, conflict.json]).toMatchObject([409, { error: 'recipient_key_conflict' }])
  expect((await read(ada, conversation)).text).toBe(registered.text)
  expect((await setByOwner(project.id, ben.id, third)).json).toMatchObject({
    recipient: third,
    registered_by: 'owner',
  })
  expect((await register(ben, first)).status).toBe(409)
  expect((await register(ben, third)).status).toBe(200)
  expect((await read(ada, conversation)).json).toMatchObject({ recipient: third })
  const { peers } = await ada.ok<{ peers: { id: string; recipient_keys: object[] }[] }>({
    target: '/api/v1/peers',
  })
  expect(peers.find(({ id }) => id === ben.id)?.recipient_keys).toMatchObject([{ recipient: third }])
})

describe('a recipient', () => {
  const bad: readonly [string, (good: string) => unknown][] = [
    ['with a wrong checksum', (good) => good.slice(0, -1) + (good.endsWith('q') ? 'p' : 'q')],
    [
      'with two characters exchanged',
      (good) => good.replace(/^(age1.{10})(.)(.)/, '$1$3$2').replace(good, 'age1'),
    ],
    ['in capitals', (good) => good.toUpperCase()],
    ['in mixed case', (good) => good.replace(/(?<=^age1[^a-z]*)[a-z]/, (letter) => letter.toUpperCase())],
    ['that is post-quantum', (good) => `age1pq1${good.slice(5)}`],
    ['of a hardware tag', (good) => `age1tag1${good.slice(5)}`],
    ['that is a private key', () => `AGE-SECRET-KEY-1${'Q'.repeat(58)}`],
    ['that is an SSH key', () => 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKcJc'],
    ['that is too short', (good) => good.slice(0, -1)],
    ['that is too long', (good) => `${good}q`],
    ['with a line break', (good) => `${good}\n`],
    ['that is empty', () => ''],
    ['that is a list', (good) => [good]],
  ]
  test.each(bad)('%s is refused from every caller', async (_what, change) => {
    const { project, ada } = await pair()
    const recipient = change(await newRecipient())
    const reply = await register(ada, recipient)
    expect([reply.status, reply.json]).toMatchObject([422, { error: 'invalid_request' }])
    const { details } = reply.json as { details: { faults: { path: string }[] } }
    expect(details.faults[0]?.path).toBe('body/recipient')
    expect((await setByOwner(project.id, ada.id, recipient as string)).status).toBe(422)
  })
})

test('is readable by participants only, and not found if there is none', async () => {
  const { ada, ben, conversation } = await pair()
  const stranger = await pair()
  expect((await read(ada, conversation)).status).toBe(404)
  await register(ben, await newRecipient())
  expect((await read(ada, conversation)).status).toBe(200)
  expect((await read(ben, conversation)).status).toBe(404)
  const foreign = await read(stranger.ada, conversation)
  const unknown = await read(stranger.ada, '01890000-0000-7000-8000-000000000000')
  expect(foreign.status).toBe(404)
  expect((foreign.json as { message: string }).message).toBe((unknown.json as { message: string }).message)
  expect((await read(ada, await ada.conversationWith(ada.id))).status).toBe(404)
})

test.each(guideTopics)('the guide to %s has a version, its topic and instructions', async (topic) => {
  const guide = await bridge.ada.ok<Record<string, string>>({ target: `/api/v1/guides/${topic}` })
  expect(Object.keys(guide).sort()).toEqual(['instructions', 'topic', 'version'])
  expect(guide.topic).toBe(topic)
  expect(guide.version).not.toBe('')
  expect(guide.instructions?.length).toBeGreaterThan(100)
})

test('a guide for any other topic is not found', async () => {
  expect((await bridge.ada.call({ target: '/api/v1/guides/secrets' })).status).toBe(404)
})
