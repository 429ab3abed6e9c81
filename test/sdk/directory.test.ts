/** Names are resolved to addresses, looked up once and cached for an hour. */
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type DirectoryStore, type Message, memoryDirectory, replyAddress } from '../../sdk/program.ts'
import { adaId, benId, bridgeAt, message, record, sent, talkId } from '../support/bridges.ts'
import { testClock } from '../support/clock.ts'
import { answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'

let node: FakeNode
let clock: ReturnType<typeof testClock>
let store: DirectoryStore
/** The peers that the node lists; a test may change them. */
let peers: { id: string; name: string; conversation_id: string | null }[]

const otherId = '01980000-0000-7000-8000-0000000000bb'

beforeEach(async () => {
  clock = testClock()
  store = memoryDirectory()
  peers = [{ id: benId, name: 'ben', conversation_id: null }]
  node = await startNode(({ url, body }, _nth, response) => {
    if (url.startsWith('/api/v1/peers')) {
      answerJson(response, 200, { peers, has_more: false, next_after: peers.at(-1)?.id ?? null })
      return
    }
    const { recipient_agent_id: to, ...asked } = JSON.parse(body) as Record<string, unknown>
    if (url === '/api/v1/messages') {
      if (asked.conversation_id === talkId) answerJson(response, 200, sent())
      else refuse(response, 404, 'not_found')
      return
    }
    const kind = to === adaId ? 'owner' : 'peer'
    const more = { project_id: record.project.id, kind, participants: [], last_sequence: 0 }
    answerJson(response, 200, { id: talkId, created_at: '2026-01-01T00:00:00.000Z', ...more })
  })
})
afterEach(() => node.close())

const directory = () => bridgeAt(node.url, { clock, directory: store }).directory
const asked = () => node.heard.splice(0).map(({ method, url }) => `${method} ${url.split('?')[0]}`)
const ben = { recipient_agent_id: benId, conversation_id: talkId }

test('a name is looked up and its conversation opened once, and the next process sends no request', async () => {
  expect(await directory().address('ben')).toEqual(ben)
  expect(asked()).toEqual(['GET /api/v1/peers', 'POST /api/v1/conversations'])
  expect(await directory().address('ben')).toEqual(ben)
  expect(await directory().address(benId)).toEqual(ben)
  expect(await directory().address(benId.toUpperCase())).toEqual(ben)
  expect(asked()).toEqual([])
})

test('a conversation that the node lists is not opened again', async () => {
  peers = [{ id: benId, name: 'ben', conversation_id: talkId }]
  expect(await directory().address('ben')).toEqual(ben)
  expect(asked()).toEqual(['GET /api/v1/peers'])
})

test('a name that moves to another agent is resolved to that agent after an hour', async () => {
  onTestFinished(clock.hold())
  peers = [{ id: benId, name: 'ben', conversation_id: talkId }]
  await directory().address('ben')
  peers = [{ id: otherId, name: 'ben', conversation_id: talkId }]
  clock.advance(3599)
  expect((await directory().address('ben')).recipient_agent_id).toBe(benId)
  clock.advance(2)
  expect((await directory().address('ben')).recipient_agent_id).toBe(otherId)
})

test.each(['Ben', 'be', 'ben ', ''])('the name %j is unknown', async (name) => {
  await expect(directory().address(name)).rejects.toMatchObject({ name: 'LocalError', code: 'peer_unknown' })
})

test('the name owner means the owner, even if a peer has that name', async () => {
  peers = [{ id: benId, name: 'owner', conversation_id: talkId }]
  expect((await directory().address('owner')).recipient_agent_id).toBe(adaId)
  expect(await directory().address(adaId)).toEqual({ recipient_agent_id: adaId, conversation_id: talkId })
  expect(asked()).toEqual(['POST /api/v1/conversations'])
})

test.each(['owner', 'ben'])(
  'a remembered conversation with %s that the node does not know is forgotten',
  async (to) => {
    const stale = '01980000-0000-7000-8000-0000000000c9'
    const known = {
      peers: [{ id: benId, name: 'ben', conversation_id: stale }],
      owner_conversation_id: stale,
    }
    await store.save({ ...known, read_at: clock().toISOString() })
    const { messages } = bridgeAt(node.url, { clock, directory: store })
    const note = { type: 'note', body: 'hello' } as const
    await expect(messages.sendTo(to, note)).rejects.toMatchObject({ code: 'not_found' })
    expect(await messages.sendTo(to, note)).toMatchObject({ message: { conversation_id: talkId } })
  },
)

test('looking up a conversation opens none', async () => {
  expect(await directory().conversation('ben')).toBeUndefined()
  expect(asked()).toEqual(['GET /api/v1/peers'])
})

test('every page of the peers is read, and an endless list is refused', async () => {
  const pages = await startNode(({ url }, _nth, response) => {
    const after = new URL(url, 'http://x').searchParams.get('after')
    if (after === null) answerJson(response, 200, { peers: [], has_more: true, next_after: benId })
    else answerJson(response, 200, { peers, has_more: true, next_after: benId })
  })
  expect(await bridgeAt(pages.url).directory.peers()).toEqual(peers)
  expect(pages.heard).toHaveLength(2)
  await pages.close()
})

const letter = (more: object) => message(1, more) as unknown as Message
const atOwner = { recipient_agent_id: adaId, conversation_id: talkId }

test.each([
  ['a peer', {}, ben],
  ['the owner', { sender: { kind: 'owner', name: 'olu' } }, atOwner],
  ['the owner about a peer', { sender: { kind: 'owner', name: 'olu' }, recipient_agent_id: benId }, ben],
  [
    'itself to a peer',
    { sender: { kind: 'agent', agent_id: adaId, name: 'ada' }, recipient_agent_id: benId },
    ben,
  ],
  [
    'itself to the owner',
    { sender: { kind: 'agent', agent_id: adaId, name: 'ada' }, recipient: { kind: 'owner' } },
    atOwner,
  ],
])('a reply to a message of %s goes to the other side', (_who, more, address) => {
  expect(replyAddress(letter(more), adaId)).toEqual(address)
})

test('a reply to a message of the service is refused', () => {
  const task = letter({ sender: { kind: 'system', name: 'service' }, type: 'task' })
  expect(() => replyAddress(task, adaId)).toThrow(expect.objectContaining({ code: 'peer_unknown' }))
})
