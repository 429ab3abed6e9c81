/** Requests that must not be lost, in real files: stored, sent once, and discarded only by a person. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BridgeOptions, type Flushed, Outbox, type OutboxEntry } from '../../sdk/index.ts'
import { adaId, benId, bridgeAt, record, sent, talkId } from '../support/bridges.ts'
import { testClock } from '../support/clock.ts'
import { type Answer, answerJson, type FakeNode, refuse, startNode } from '../support/fake-node.ts'

let folder: string
let clock: ReturnType<typeof testClock>
const open: FakeNode[] = []

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'bridge-outbox-')), 'outbox')
  clock = testClock()
})

afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
  await rm(join(folder, '..'), { recursive: true, force: true })
})

async function node(answer: Answer, port?: number): Promise<FakeNode> {
  const started = await startNode(answer, port)
  open.push(started)
  return started
}

async function stop(node: FakeNode): Promise<void> {
  open.splice(open.indexOf(node), 1)
  await node.close()
}

const owner = { server_id: record.server_id, agent_id: adaId }
let counter = 0
const random = (bytes: number) => {
  counter += 1
  const filled = Buffer.alloc(bytes)
  filled.writeUInt16BE(counter, bytes - 2)
  return filled
}
const outboxOf = (who = owner) => new Outbox({ folder, owner: who, clock, random })

function bridge(url: string, options: Partial<BridgeOptions> = {}) {
  const flushed: Flushed[] = []
  const kept: OutboxEntry[] = []
  const made = bridgeAt(url, {
    outbox: outboxOf(),
    clock,
    onFlushed: (one) => flushed.push(one),
    onKept: (one) => kept.push(one),
    ...options,
  })
  return { bridge: made, flushed, kept }
}

const say = (body: string) =>
  ({ conversation_id: talkId, recipient_agent_id: benId, type: 'note', body }) as const
const stores: Answer = (_heard, _nth, response) => answerJson(response, 200, sent())
const bodies = (fake: FakeNode) => fake.heard.map(({ body }) => (JSON.parse(body) as { body: string }).body)

test('key and body are stored in a private file before the first attempt, and deleted after the answer', async () => {
  const seen: unknown[] = []
  const fake = await node(async ({ body, headers }, _nth, response) => {
    const [file = ''] = await readdir(folder)
    const [entry] = await outboxOf().list()
    seen.push(file.endsWith('.sending'), ((await stat(join(folder, file))).mode & 0o777).toString(8))
    seen.push(entry?.request?.body === body, entry?.idempotency_key === headers['idempotency-key'])
    answerJson(response, 200, sent())
  })
  await bridge(fake.url).bridge.messages.send(say('hello'))
  expect(seen).toEqual([true, '600', true, true])
  expect(await readdir(folder)).toEqual([])
})

test('a final refusal removes an entry', async () => {
  const fake = await node((_heard, _nth, response) => refuse(response, 409, 'project_paused'))
  const { bridge: ada, kept } = bridge(fake.url)
  await expect(ada.messages.send(say('hello'))).rejects.toMatchObject({ code: 'project_paused' })
  expect(await outboxOf().list()).toEqual([])
  expect(kept).toEqual([])
})

test('entries are kept while the node is unreachable, and the next mutation sends them first, once each and in order', async () => {
  const away = await node(stores)
  await stop(away)
  const before = bridge(away.url)
  for (const body of ['one', 'two']) {
    await expect(before.bridge.messages.send(say(body))).rejects.toMatchObject({ code: 'unreachable' })
    clock.advance(1)
  }
  expect(before.kept).toHaveLength(3)
  expect((await outboxOf().list()).map(({ state }) => state)).toEqual(['kept', 'kept'])

  const back = await node(stores, away.port)
  const after = bridge(back.url)
  await after.bridge.messages.send(say('three'))
  expect(bodies(back)).toEqual(['one', 'two', 'three'])
  expect(new Set(back.heard.map(({ headers }) => headers['idempotency-key'])).size).toBe(3)
  expect(after.flushed.map(({ outcome }) => outcome)).toEqual(['sent', 'sent'])
  expect(await outboxOf().list()).toEqual([])
})

test('a lost answer leaves the entry with its key', async () => {
  const fake = await node((_heard, nth, response) =>
    nth <= 4 ? void response.socket?.destroy() : answerJson(response, 200, sent()),
  )
  const { bridge: ada } = bridge(fake.url)
  await expect(ada.messages.send(say('hello'), { idempotencyKey: 'greet-ben' })).rejects.toThrow()
  for await (const { outcome } of ada.flush()) expect(outcome).toBe('sent')
  expect(fake.heard).toHaveLength(5)
  expect(new Set(fake.heard.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)).size).toBe(1)
})

test('a lasting 503 keeps the entry, and so does an abort of the caller', async () => {
  const full = await node((_heard, _nth, response) => refuse(response, 503, 'storage_full'))
  await expect(bridge(full.url).bridge.messages.send(say('one'))).rejects.toMatchObject({
    code: 'storage_full',
  })
  const silent = await node(() => {})
  const stopping = new AbortController()
  const call = bridge(silent.url).bridge.messages.send(say('two'), { signal: stopping.signal })
  setImmediate(() => stopping.abort())
  await expect(call).rejects.toMatchObject({ code: 'aborted' })
  expect((await outboxOf().list()).map(({ state }) => state)).toEqual(['kept', 'kept'])
})

/** Stores an entry of an earlier command, for which the node was unreachable. */
async function keep(body: string, who = owner): Promise<OutboxEntry> {
  const request = {
    endpoint: 'messages.send',
    caller: 'agent',
    method: 'POST',
    target: '/api/v1/messages',
    body: JSON.stringify(say(body)),
    idempotencyKey: `key-of-${body}`,
    repeatable: true,
    required: ['message'],
  } as const
  const outbox = outboxOf(who)
  const entry = await outbox.add({ idempotency_key: request.idempotencyKey, request, draft: null })
  await outbox.keep(entry.id)
  clock.advance(1)
  return entry
}

test('a refused entry is reported and removed, and the later ones are sent', async () => {
  await keep('one')
  await keep('two')
  const fake = await node(({ headers }, _nth, response) =>
    headers['idempotency-key'] === 'key-of-one'
      ? refuse(response, 404, 'not_found')
      : answerJson(response, 200, sent()),
  )
  const { bridge: ada, flushed } = bridge(fake.url)
  await ada.messages.send(say('three'))
  expect(flushed.map(({ outcome, error }) => [outcome, error?.message])).toEqual([
    ['refused', 'POST /api/v1/messages: not_found: about not_found'],
    ['sent', undefined],
  ])
  expect(await outboxOf().list()).toEqual([])
})

test('a temporary refusal keeps the entry', async () => {
  await keep('one')
  const fake = await node(({ headers }, _nth, response) =>
    headers['idempotency-key'] === 'key-of-one'
      ? refuse(response, 409, 'project_paused')
      : answerJson(response, 200, sent()),
  )
  const { bridge: ada, flushed } = bridge(fake.url)
  await ada.messages.send(say('two'))
  expect(flushed.map(({ outcome }) => outcome)).toEqual(['delayed'])
  expect((await outboxOf().list()).map(({ idempotency_key }) => idempotency_key)).toEqual(['key-of-one'])
})

test.each(['capacity_reached', 'storage_full'])(
  'a kept entry that a full node refuses with %s stays and does not hold up the others',
  async (code) => {
    await keep('one')
    await keep('two')
    await keep('three')
    const fake = await node(({ headers }, _nth, response) =>
      /^key-of-(one|two)$/.test(String(headers['idempotency-key']))
        ? refuse(response, 503, code)
        : answerJson(response, 200, sent()),
    )
    const { bridge: ada, flushed } = bridge(fake.url)
    await ada.messages.send(say('four'))
    expect(flushed.map(({ outcome }) => outcome)).toEqual(['delayed', 'delayed', 'sent'])
    const kept = await outboxOf().list()
    expect(kept.map(({ idempotency_key }) => idempotency_key)).toEqual(['key-of-one', 'key-of-two'])
    // Only the first one is tried again.
    expect(bodies(fake)).toEqual(['one', 'one', 'one', 'one', 'two', 'three', 'four'])
  },
)

test.each([
  [
    'a filter in front of the node refuses with a page of its own',
    (response) => response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>'),
  ],
  ['the node fails at', (response) => refuse(response, 500, 'internal')],
] satisfies [string, (response: ServerResponse) => unknown][])(
  'a kept entry that %s stays and does not hold up the others',
  async (_why, fail) => {
    await keep('one')
    const fake = await node(({ headers, url }, _nth, response) => {
      if (headers['idempotency-key'] === 'key-of-one') fail(response)
      else answerJson(response, 200, url.endsWith('/messages') ? sent() : { acknowledged: [], already: [] })
    })
    const { bridge: ada, flushed } = bridge(fake.url)
    await ada.messages.send(say('two'))
    await ada.acknowledgements.create([benId])
    expect(flushed.map(({ outcome }) => outcome)).toEqual(['delayed', 'delayed'])
    expect((await outboxOf().list()).map(({ idempotency_key }) => idempotency_key)).toEqual(['key-of-one'])
  },
)

test('a kept entry that the node cannot take up stops the outbox', async () => {
  await keep('one')
  const fake = await node((_heard, _nth, response) => refuse(response, 503, 'unavailable'))
  await expect(bridge(fake.url).bridge.messages.send(say('two'))).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(new Set(bodies(fake))).toEqual(new Set(['one']))
  expect(await outboxOf().list()).toHaveLength(2)
})

test.each([
  [401, 'credential_revoked'],
  [409, 'session_fenced'],
  [403, 'agent_disabled'],
  [429, 'rate_limited'],
])(
  '%i %s concerns the identity: stored entries stay, and the untried ones stay after them',
  async (status, code) => {
    await keep('one')
    const fake = await node((_heard, _nth, response) => refuse(response, status, code))
    await expect(bridge(fake.url).bridge.messages.send(say('two'))).rejects.toMatchObject({ code })
    const kept = await outboxOf().list()
    expect(kept.map(({ idempotency_key }) => idempotency_key)).toEqual(['key-of-one', expect.any(String)])
  },
)

test('an entry older than six days waits for a person to send it by its id', async () => {
  const { id } = await keep('one')
  clock.advance(6 * 86_400 + 1)
  const fake = await node(stores)
  const { bridge: ada } = bridge(fake.url)
  await ada.messages.send(say('two'))
  expect(bodies(fake)).toEqual(['two'])
  expect((await outboxOf().list()).map(({ state }) => state)).toEqual(['waits for you'])
  for await (const { outcome } of ada.flush([id])) expect(outcome).toBe('sent')
  expect(bodies(fake)).toEqual(['two', 'one'])
})

test('entries of another identity are not sent', async () => {
  await keep('one', { ...owner, agent_id: benId })
  await keep('two', { ...owner, server_id: talkId })
  const fake = await node(stores)
  await bridge(fake.url).bridge.messages.send(say('three'))
  expect(bodies(fake)).toEqual(['three'])
  expect(await outboxOf().list()).toHaveLength(2)
})

test.each([
  ['another agent', { ...owner, agent_id: benId }],
  ['another node', { ...owner, server_id: talkId }],
])(
  'an entry of %s given by its id is refused before anything is sent, and stays unchanged',
  async (_whose, who) => {
    const own = await keep('one')
    const { id } = await keep('two', who)
    const files = await readdir(folder)
    const fake = await node(stores)
    await expect(bridge(fake.url).bridge.flush([own.id, id]).next()).rejects.toMatchObject({
      code: 'entry_of_another',
      message: expect.stringContaining(id),
    })
    expect(bodies(fake)).toEqual([])
    expect(await readdir(folder)).toEqual(files)
  },
)

test('an entry of another identity is not claimed when the process that was sending it died', async () => {
  const { id } = await keep('one', { ...owner, agent_id: benId })
  await outboxOf({ ...owner, agent_id: benId }).claim(id)
  clock.advance(121)
  await expect(outboxOf().claim(id)).rejects.toMatchObject({ code: 'entry_of_another' })
  expect(await readdir(folder)).toEqual([`${id}.sending`])
  expect(await outboxOf({ ...owner, agent_id: benId }).claim(id)).toMatchObject({ id })
})

test('an entry of another identity that was renamed during the search is put back', async () => {
  const { id } = await keep('one', { ...owner, agent_id: benId })
  // Each of the two names was missing at the moment of its lookup.
  const outbox = Object.assign(outboxOf(), { requireOwn: async () => {} })
  await expect(outbox.claim(id)).rejects.toMatchObject({ code: 'entry_of_another' })
  expect(await readdir(folder)).toEqual([`${id}.kept`])
})

test('an entry that another process is sending is reserved for two minutes, then free', async () => {
  const outbox = outboxOf()
  const entry = await keep('one')
  expect(await outbox.claim(entry.id)).toMatchObject({ id: entry.id })
  expect(await outbox.claim(entry.id)).toBeUndefined()
  expect(await outbox.due()).toEqual([])
  clock.advance(121)
  expect(await outbox.due()).toEqual([entry.id])
  expect(await outbox.claim(entry.id)).toMatchObject({ id: entry.id })
})

test('two simultaneous flushes send an entry once', async () => {
  for (const body of ['one', 'two', 'three']) await keep(body)
  const fake = await node(stores)
  const flush = async () => {
    for await (const { outcome } of bridge(fake.url).bridge.flush()) expect(outcome).toBe('sent')
  }
  await Promise.all([flush(), flush()])
  expect(bodies(fake).sort()).toEqual(['one', 'three', 'two'])
})

test('a message to a name that could not be looked up is stored as a draft, and sent once the node is reachable', async () => {
  const away = await node(stores)
  await stop(away)
  const gone = bridge(away.url).bridge.messages.sendTo('owner', { type: 'note', body: 'hello' })
  await expect(gone).rejects.toMatchObject({ code: 'unreachable' })
  const [draft] = await outboxOf().list()
  expect(draft).toMatchObject({ request: null, draft: { to: 'owner', body: 'hello' }, state: 'kept' })

  const back = await node(({ url }, _nth, response) => {
    if (url === '/api/v1/conversations') answerJson(response, 200, conversation)
    else answerJson(response, 200, sent())
  }, away.port)
  for await (const { outcome } of bridge(back.url).bridge.flush()) expect(outcome).toBe('sent')
  expect(back.heard[1]?.headers['idempotency-key']).toBe(draft?.idempotency_key)
  expect(await outboxOf().list()).toEqual([])
})

const conversation = {
  id: talkId,
  project_id: record.project.id,
  kind: 'owner',
  participants: [],
  created_at: '2026-01-01T00:00:00.000Z',
  last_sequence: 0,
}

test('acknowledgements are stored too, and reads are not', async () => {
  const away = await node(stores)
  await stop(away)
  const { bridge: ada } = bridge(away.url)
  await expect(ada.acknowledgements.create([benId])).rejects.toMatchObject({ code: 'unreachable' })
  await expect(ada.peers.list()).rejects.toMatchObject({ code: 'unreachable' })
  expect((await outboxOf().list()).map(({ request }) => request?.endpoint)).toEqual([
    'acknowledgements.create',
  ])
})

test('an invalid entry id opens no file', async () => {
  await expect(outboxOf().remove('../profile')).rejects.toThrow(TypeError)
  await expect(outboxOf().claim('..')).rejects.toThrow(TypeError)
  expect(await outboxOf().remove('1767225600000-AAAAAAAA')).toBe(false)
})
