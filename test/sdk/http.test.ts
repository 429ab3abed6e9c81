/** Calls over real sockets: the sent requests, the retries, and the result of every kind of answer. */
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { Bridge, type Fetch, Identity, LocalError } from '../../sdk/index.ts'
import { requestV1, sha256Hex } from '../../sdk/signing/canonical.ts'
import { importPublicKey } from '../../sdk/signing/keys.ts'
import { verify } from '../../sdk/signing/proof.ts'
import {
  ada,
  adaId,
  benId,
  bridgeAt,
  keys,
  record,
  sent,
  sessionId,
  sharedSessions,
  talkId,
} from '../support/bridges.ts'
import {
  type Answer,
  answerJson,
  type FakeNode,
  type Heard,
  refuse,
  startNode,
} from '../support/fake-node.ts'

const open: FakeNode[] = []
afterEach(async () => {
  for (const node of open.splice(0)) await node.close()
})

async function node(answer: Answer): Promise<FakeNode> {
  const started = await startNode(answer)
  open.push(started)
  return started
}

const input = { conversation_id: talkId, recipient_agent_id: benId, type: 'note', body: 'héllo' } as const

function proves({ method, url, headers, body }: Heard): Promise<boolean> {
  const header = (name: string) => String(headers[name])
  const text = requestV1({
    serverId: record.server_id,
    credentialId: record.credential_id,
    method,
    target: url.slice(url.indexOf('/api/')),
    bodySha256: sha256Hex(body),
    time: header('x-bridge-time'),
    nonce: header('x-bridge-nonce'),
    session: headers['x-bridge-session'] as string | undefined,
    idempotencyKey: headers['idempotency-key'] as string | undefined,
  })
  return verify(importPublicKey(keys.publicKey), text, header('x-bridge-proof'))
}

test('a call is signed over its sent target, behind a path prefix too', async () => {
  const { url, heard } = await node((_heard, _nth, response) => answerJson(response, 200, sent()))
  const answer = await bridgeAt(`${url}/team/bridge/`).messages.send(input)
  expect(answer.message.sequence).toBe(1)
  expect(heard).toHaveLength(1)
  expect(heard[0]).toMatchObject({ method: 'POST', url: '/team/bridge/api/v1/messages' })
  expect(heard[0]?.headers).toMatchObject({
    authorization: `AgentKey ${record.credential_id}`,
    'x-bridge-session': sessionId,
    'content-type': 'application/json',
    accept: 'application/json',
  })
  expect(JSON.parse(heard[0]?.body ?? '')).toEqual(input)
  expect(await proves(heard[0] as Heard)).toBe(true)
})

test('every attempt has a fresh signature over the same bytes and the same key', async () => {
  const { url, heard } = await node((_heard, nth, response) =>
    nth < 3 ? refuse(response, 503, 'unavailable') : answerJson(response, 200, sent()),
  )
  await bridgeAt(url).messages.send(input)
  expect(heard).toHaveLength(3)
  expect(new Set(heard.map(({ body }) => body)).size).toBe(1)
  expect(new Set(heard.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  expect(new Set(heard.map(({ headers }) => headers['x-bridge-nonce'])).size).toBe(3)
  for (const each of heard) expect(await proves(each)).toBe(true)
})

test('two calls never share an Idempotency-Key, and a given key is used unchanged', async () => {
  const { url, heard } = await node((_heard, _nth, response) => answerJson(response, 200, sent()))
  const bridge = bridgeAt(url)
  await bridge.messages.send(input)
  await bridge.messages.send(input)
  await bridge.messages.send(input, { idempotencyKey: 'greet-ben-1' })
  const used = heard.map(({ headers }) => headers['idempotency-key'])
  expect(new Set(used).size).toBe(3)
  expect(used[2]).toBe('greet-ben-1')
})

test('the pause before another attempt is the one that the node requests', async () => {
  const waited: number[] = []
  const { url } = await node((_heard, nth, response) =>
    nth === 1
      ? refuse(response, 503, 'unavailable', {}, { 'retry-after': '2' })
      : answerJson(response, 200, sent()),
  )
  await bridgeAt(url, { sleep: async (ms) => void waited.push(ms) }).messages.send(input)
  expect(waited).toEqual([2000])
})

test("a wrong clock is corrected once from the node's time, and stays corrected", async () => {
  const serverTime = new Date(Date.now() + 3_600_000)
  const answer: Answer = ({ headers }, _nth, response) => {
    const off = Math.abs(Number(headers['x-bridge-time']) - serverTime.getTime() / 1000)
    if (off < 30) answerJson(response, 200, sent())
    else refuse(response, 401, 'clock_skew', { details: { server_time: serverTime.toISOString() } })
  }
  const { url, heard } = await node(answer)
  const sessions = sharedSessions()
  const bridge = bridgeAt(url, { sessions })
  await bridge.messages.send(input)
  await bridge.messages.send(input)
  expect(heard).toHaveLength(3)
  expect(sessions.stored.clock_offset_ms).toBeGreaterThan(3_590_000)
  await bridgeAt(url, { sessions }).messages.send(input)
  expect(heard).toHaveLength(4)
})

test('a clock that is wrong after the correction is reported, not retried endlessly', async () => {
  const details = { server_time: '2026-01-01T00:00:00.000Z' }
  const { url, heard } = await node((_heard, _nth, response) =>
    refuse(response, 401, 'clock_skew', { details }),
  )
  await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({ code: 'clock_skew', status: 401 })
  expect(heard).toHaveLength(2)
})

test.each([{}, { server_time: 'soon' }, { server_time: 5 }])(
  'a clock refusal with %j as its time is reported immediately',
  async (details) => {
    const { url, heard } = await node((_heard, _nth, response) =>
      refuse(response, 401, 'clock_skew', { details }),
    )
    await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({ code: 'clock_skew' })
    expect(heard).toHaveLength(1)
  },
)

test.each([
  [401, 'credential_revoked'],
  [401, 'signature_invalid'],
  [409, 'session_fenced'],
  [409, 'session_active'],
  [409, 'idempotency_conflict'],
])('a refusal %i %s ends the call after one request', async (status, code) => {
  const { url, heard } = await node((_heard, _nth, response) =>
    refuse(response, status, code, { details: { a: 1 } }),
  )
  await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({
    name: 'BridgeError',
    code,
    status,
    retry: 'never',
    requestId: 'r-1',
    details: { a: 1 },
    message: `POST /api/v1/messages: ${code}: about ${code}`,
  })
  expect(heard).toHaveLength(1)
})

test('an unknown code of a newer node is reported with its status and message', async () => {
  const { url } = await node((_heard, _nth, response) => refuse(response, 409, 'moon_phase'))
  const failure = bridgeAt(url).messages.send(input)
  await expect(failure).rejects.toMatchObject({ code: 'unrecognized', status: 409, retry: 'never' })
  await expect(failure).rejects.toThrow('moon_phase')
})

test.each<[string, Answer]>([
  ['a page', (_heard, _nth, response) => void response.end('<html>hello</html>')],
  ['a page that is missing', (_heard, _nth, response) => void response.writeHead(404).end('not here')],
  ['another program', (_heard, _nth, response) => answerJson(response, 200, { ok: true })],
  ['a list', (_heard, _nth, response) => answerJson(response, 200, [sent()])],
  ['an error of another shape', (_heard, _nth, response) => answerJson(response, 404, { error: 'nope' })],
  ['201', (_heard, _nth, response) => answerJson(response, 201, sent())],
])('%s is not accepted as an answer of a bridge', async (_what, answer) => {
  const { url, heard } = await node(answer)
  await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({
    name: 'LocalError',
    code: 'bad_response',
  })
  expect(heard).toHaveLength(1)
})

test('a proxy whose node is unreachable counts as an unreachable node', async () => {
  const { url, heard } = await node((_heard, nth, response) =>
    nth < 3 ? void response.writeHead(502).end('<h1>Bad Gateway</h1>') : answerJson(response, 200, sent()),
  )
  await bridgeAt(url).messages.send(input)
  expect(heard).toHaveLength(3)
})

test('a redirect is not followed, and the other host gets no request', async () => {
  const elsewhere = await node((_heard, _nth, response) => answerJson(response, 200, sent()))
  const { url } = await node((_heard, _nth, response) => {
    response.writeHead(307, { location: `${elsewhere.url}/api/v1/messages` }).end()
  })
  await expect(bridgeAt(url).messages.send(input)).rejects.toMatchObject({ code: 'redirected' })
  expect(elsewhere.heard).toEqual([])
})

test('a missing node is unreachable, and a broken connection is retried', async () => {
  const gone = await startNode(() => {})
  await gone.close()
  await expect(bridgeAt(gone.url).messages.send(input)).rejects.toMatchObject({ code: 'unreachable' })

  const { url, heard } = await node((_heard, nth, response) =>
    nth === 1 ? void response.socket?.destroy() : answerJson(response, 200, sent()),
  )
  await bridgeAt(url).messages.send(input)
  expect(heard).toHaveLength(2)
})

test('a server that does not speak HTTP is reported as no bridge', async () => {
  const server = createServer((socket) => socket.resume().end('220 mail.example ESMTP\r\n'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await expect(bridgeAt(`http://127.0.0.1:${port}`).messages.send(input)).rejects.toMatchObject({
    code: 'bad_response',
  })
  server.close()
})

test('a node that does not answer in time causes a timeout, and the caller may abort earlier', async () => {
  const { url } = await node(() => {})
  // On a busy machine an attempt may end before the node hears of it, so attempts are counted here.
  let attempts = 0
  const counted: Fetch = (target, init) => {
    attempts += 1
    return fetch(target, init)
  }
  await expect(bridgeAt(url, { timeoutMs: 50, fetch: counted }).messages.send(input)).rejects.toMatchObject({
    code: 'timeout',
  })
  expect(attempts).toBe(1)

  const stop = new AbortController()
  const call = bridgeAt(url).messages.send(input, { signal: stop.signal })
  stop.abort()
  await expect(call).rejects.toMatchObject({ name: 'LocalError', code: 'aborted' })
})

test('an abort ends the pause between attempts', async () => {
  const stop = new AbortController()
  const { url, heard } = await node((_heard, _nth, response) => {
    refuse(response, 503, 'unavailable', {}, { 'retry-after': '9' })
    setImmediate(() => stop.abort())
  })
  const bridge = new Bridge({ baseUrl: url, identity: ada(), sessions: sharedSessions() })
  await expect(bridge.messages.send(input, { signal: stop.signal })).rejects.toMatchObject({
    code: 'aborted',
  })
  expect(heard).toHaveLength(1)
  await bridge.close()
})

test.each([
  ['EPERM', 'sandbox_blocked'],
  ['EACCES', 'sandbox_blocked'],
  ['ECONNREFUSED', 'unreachable'],
  ['ENOTFOUND', 'unreachable'],
  ['CERT_HAS_EXPIRED', 'certificate_refused'],
  ['EPROTO', 'bad_response'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'bad_response'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_refused'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate_refused'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_refused'],
])("the platform's error %s becomes %s", async (platform, code) => {
  const fetch = async () => {
    throw new TypeError('fetch failed', {
      cause: new AggregateError([Object.assign(new Error('connect'), { code: platform })]),
    })
  }
  const failure = bridgeAt('http://127.0.0.1:1', { fetch }).messages.send(input)
  await expect(failure).rejects.toMatchObject({ name: 'LocalError', code })
  await expect(failure).rejects.toThrow(platform)
})

test('no secret is in an inspected object, its JSON or an error', async () => {
  const secret = 'S'.repeat(43)
  const legacy = new Identity({ ...record, binding: 'legacy' }, { secret })
  const { url, heard } = await node((_heard, _nth, response) => refuse(response, 401, 'credential_revoked'))
  const bridge = bridgeAt(url, { identity: legacy })
  const failure = await bridge.messages.send(input).catch((error: unknown) => error)
  expect(heard[0]?.headers.authorization).toBe(`AgentKey ${record.credential_id}.${secret}`)
  expect(heard[0]?.headers['x-bridge-proof']).toBeUndefined()
  const away = await bridgeAt('http://127.0.0.1:1', { identity: legacy })
    .messages.send(input)
    .catch((error) => error)
  expect(away).toBeInstanceOf(LocalError)
  for (const shown of [bridge, legacy, failure, away, { bridge, legacy }]) {
    expect(`${inspect(shown, { depth: 9, showHidden: true })}${JSON.stringify(shown)}`).not.toContain(secret)
  }
  expect(inspect(bridge)).toBe(
    'Bridge { Identity { ada in demo, credential 01980000-0000-7000-8000-000000000002 } }',
  )
})

test('an identity whose proof has another binding is refused', () => {
  expect(() => new Identity({ ...record, binding: 'device' }, { privateKey: keys.privateKey })).toThrow(
    TypeError,
  )
  expect(() => new Identity(record, { secret: 'x' })).toThrow(TypeError)
})

test("an owner message goes to the agent's own id", async () => {
  const { url, heard } = await node(({ url: target }, _nth, response) =>
    target === '/api/v1/conversations'
      ? answerJson(response, 200, {
          id: talkId,
          project_id: record.project.id,
          kind: 'owner',
          participants: [],
          created_at: '2026-01-01T00:00:00.000Z',
          last_sequence: 0,
        })
      : answerJson(response, 200, sent()),
  )
  const bridge = bridgeAt(url)
  await bridge.messages.sendTo('owner', { type: 'note', body: 'hello' })
  await bridge.messages.sendTo('owner', { type: 'note', body: 'again' })
  expect(heard.map(({ url: target }) => target)).toEqual([
    '/api/v1/conversations',
    '/api/v1/messages',
    '/api/v1/messages',
  ])
  expect(JSON.parse(heard[1]?.body ?? '')).toEqual({
    recipient_agent_id: adaId,
    conversation_id: talkId,
    type: 'note',
    body: 'hello',
  })
})
