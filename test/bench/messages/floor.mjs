// Floor of messages: the minimum that stores the same data per message as the node. It verifies every
// signature, on the thread pool if there is a queue. It reads the session, and writes nonce, sequence,
// message, idempotency record and audit record. All waiting requests share one durable transaction, and
// messages are delivered from memory after the commit. It has no validation, no permissions, no limits.
// Imports nothing of the product. node floor.mjs FOLDER (which contains people.json) prints its port.
import { createPublicKey, hash, randomBytes, randomUUID, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { fastify } from 'fastify'
import { WebSocketServer } from 'ws'

const [, , folder] = process.argv
const { serverId, agents, conversations } = JSON.parse(readFileSync(join(folder, 'people.json'), 'utf8'))

const database = new Database(join(folder, 'floor.db'))
database.pragma('journal_mode = WAL')
database.pragma('synchronous = FULL')
database.exec(`
  CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, credential_id TEXT NOT NULL, agent_id TEXT NOT NULL,
    state TEXT NOT NULL, generation INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY, last_sequence INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS nonces (credential_id TEXT NOT NULL, nonce BLOB NOT NULL, signed_at INTEGER NOT NULL,
    PRIMARY KEY (credential_id, nonce)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, sequence INTEGER NOT NULL,
    sender_agent_id TEXT NOT NULL, recipient_agent_id TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL,
    created_at TEXT NOT NULL, offers INTEGER NOT NULL, offered_at TEXT, acknowledged_at TEXT,
    UNIQUE (conversation_id, sequence));
  CREATE TABLE IF NOT EXISTS idempotency (principal TEXT NOT NULL, key TEXT NOT NULL, fingerprint BLOB NOT NULL,
    answer TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (principal, key));
  CREATE TABLE IF NOT EXISTS audit (id TEXT PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, actor_id TEXT NOT NULL,
    subject_id TEXT NOT NULL, request_id TEXT NOT NULL, details TEXT NOT NULL);
`)
database.transaction(() => {
  const session = database.prepare("INSERT INTO sessions VALUES (?, ?, ?, 'active', 1)")
  for (const each of agents) session.run(each.sessionId, each.credentialId, each.agentId)
  const conversation = database.prepare('INSERT INTO conversations VALUES (?, 0)')
  for (const id of conversations) if (id !== '') conversation.run(id)
})()

const statements = {
  begin: database.prepare('BEGIN IMMEDIATE'),
  commit: database.prepare('COMMIT'),
  session: database.prepare(
    'SELECT agent_id, state, generation FROM sessions WHERE id = ? AND credential_id = ?',
  ),
  nonce: database.prepare('INSERT INTO nonces VALUES (?, ?, ?)'),
  sequence: database
    .prepare(
      'UPDATE conversations SET last_sequence = last_sequence + 1 WHERE id = ? RETURNING last_sequence',
    )
    .pluck(),
  message: database.prepare('INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, NULL, NULL)'),
  idempotency: database.prepare('INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)'),
  audit: database.prepare('INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)'),
  offered: database.prepare('UPDATE messages SET offers = offers + 1, offered_at = ? WHERE id = ?'),
  acknowledged: database.prepare(
    'UPDATE messages SET acknowledged_at = ? WHERE id = ? AND recipient_agent_id = ? AND acknowledged_at IS NULL',
  ),
}

const people = new Map(
  agents.map((each) => [
    each.credentialId,
    {
      agentId: each.agentId,
      key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: each.publicKey }, format: 'jwk' }),
    },
  ]),
)

let waiting = []

/** The result of `work` is answered after the commit; then `after` runs. */
function write(work) {
  return new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(commit)
    waiting.push({ work, resolve })
  })
}

function commit() {
  const group = waiting
  waiting = []
  statements.begin.run()
  const answers = group.map(({ work }) => work())
  statements.commit.run()
  for (const [index, { resolve }] of group.entries()) resolve(answers[index])
}

/**
 * A single signature is verified here, which is faster; a queue is verified on the thread pool, which uses
 * the other cores.
 */
let verifying = 0
function holds(key, text, proof) {
  const bytes = Buffer.from(text)
  if (verifying < 2) {
    verifying += 1
    setImmediate(() => {
      verifying -= 1
    })
    return verify(null, bytes, key, proof)
  }
  verifying += 1
  return new Promise((resolve) => {
    verify(null, bytes, key, proof, (_error, valid) => {
      verifying -= 1
      resolve(valid)
    })
  })
}

async function caller(method, target, headers, body) {
  const credentialId = headers.authorization.slice('AgentKey '.length)
  const { agentId, key } = people.get(credentialId)
  const { 'x-bridge-time': time, 'x-bridge-nonce': nonce, 'x-bridge-session': session } = headers
  const idempotencyKey = headers['idempotency-key']
  const digest = hash('sha256', body)
  const text = [
    'bridge-request-v1',
    serverId,
    credentialId,
    method,
    target,
    digest,
    time,
    nonce,
    session ?? '-',
  ]
  const signed = [...text, idempotencyKey ?? '-'].join('\n')
  if (!(await holds(key, signed, Buffer.from(headers['x-bridge-proof'], 'base64url')))) throw new Error('401')
  return { agentId, credentialId, session, time: Number(time), nonce, idempotencyKey }
}

/** Runs in the transaction: checks that the nonce is new and the session is the active one. */
function admit({ credentialId, session, time, nonce }) {
  statements.nonce.run(credentialId, hash('sha256', nonce, 'buffer').subarray(0, 16), time)
  if (statements.session.get(session, credentialId).state !== 'active') throw new Error('409')
}

let counter = 0
/** Ids of messages and records increase, like those of the product. */
function newId() {
  counter += 1
  const time = Date.now().toString(16).padStart(12, '0')
  const count = counter.toString(16).padStart(8, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count.slice(0, 3)}-8${count.slice(3, 6)}-${count.slice(6)}${randomBytes(5).toString('hex')}`
}

const none = Buffer.alloc(0)
const listeners = new Map()
/** The open polls, and the messages that arrived between two polls. */
const polls = new Set()
const kept = new Map()

const app = fastify({ genReqId: () => randomUUID() })
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.setSerializerCompiler(() => (data) => JSON.stringify(data))

app.post('/api/v1/messages', async (request) => {
  const from = await caller('POST', request.url, request.headers, request.body)
  const body = JSON.parse(request.body)
  const { answer, message } = await write(() => {
    admit(from)
    const at = new Date().toISOString()
    const id = newId()
    const sequence = statements.sequence.get(body.conversation_id)
    const to = body.recipient_agent_id
    statements.message.run(id, body.conversation_id, sequence, from.agentId, to, body.type, body.body, at)
    const message = { id, sequence, sender_agent_id: from.agentId, created_at: at, ...body }
    const answer = JSON.stringify({ message })
    statements.idempotency.run(
      from.agentId,
      from.idempotencyKey,
      hash('sha256', request.body, 'buffer'),
      answer,
      at,
    )
    const details = { conversation_id: body.conversation_id, sequence, type: body.type }
    statements.audit.run(newId(), at, 'message.sent', from.agentId, id, request.id, JSON.stringify(details))
    return { answer, message }
  })
  deliver(message)
  return answer
})

app.post('/api/v1/acknowledgements', async (request) => {
  const from = await caller('POST', request.url, request.headers, request.body)
  const { message_ids } = JSON.parse(request.body)
  return write(() => {
    admit(from)
    const at = new Date().toISOString()
    for (const id of message_ids) statements.acknowledged.run(at, id, from.agentId)
    const details = JSON.stringify({ message_ids })
    statements.audit.run(
      newId(),
      at,
      'message.acknowledged',
      from.agentId,
      message_ids[0],
      request.id,
      details,
    )
    return { acknowledged: message_ids, already: [] }
  })
})

// Without a wait: only verifies, or with `?rows` also does the same writes and reads as the node.
app.get('/api/v1/inbox', async (request, reply) => {
  const from = await caller('GET', request.url, request.headers, none)
  const empty = { messages: [], has_more: false, waiting: 0 }
  if (request.query.wait_seconds === undefined) {
    if (request.query.limit !== undefined) await write(() => admit(from))
    return empty
  }
  await write(() => admit(from))
  const missed = kept.get(from.agentId)
  if (missed !== undefined) {
    kept.delete(from.agentId)
    return { ...empty, messages: missed }
  }
  reply.hijack()
  const response = reply.raw
  listeners.set(from.agentId, (message) => {
    listeners.delete(from.agentId)
    polls.add(from.agentId)
    const text = JSON.stringify({ ...empty, messages: [message] })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.end(text)
  })
})

app.get('/api/v1/events', async (request, reply) => {
  const from = await caller('GET', request.url, request.headers, none)
  await write(() => admit(from))
  reply.hijack()
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
  reply.raw.write('retry: 250\n\n')
  listeners.set(from.agentId, (message) => {
    reply.raw.write(`event: messages\ndata: ${JSON.stringify({ messages: [message] })}\n\n`)
  })
  reply.raw.once('close', () => listeners.delete(from.agentId))
})

const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false })
app.server.on('upgrade', (request, connection, head) => {
  sockets.handleUpgrade(request, connection, head, (socket) => {
    socket.once('message', async (data) => {
      const { headers } = JSON.parse(data)
      const lower = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      )
      const from = await caller('GET', '/api/v1/events', lower, none)
      await write(() => admit(from))
      socket.send(JSON.stringify({ type: 'ready' }))
      listeners.set(from.agentId, (message) =>
        socket.send(JSON.stringify({ type: 'messages', messages: [message] })),
      )
      socket.once('close', () => listeners.delete(from.agentId))
    })
  })
})

/** Delivers to a listener immediately; the offer is recorded afterwards, without delaying the answer. */
function deliver(message) {
  const to = message.recipient_agent_id
  const tell = listeners.get(to)
  if (tell === undefined && !polls.has(to)) return
  if (tell === undefined) kept.set(to, [...(kept.get(to) ?? []), message])
  else tell(message)
  const at = new Date().toISOString()
  void write(() => statements.offered.run(at, message.id))
}

await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${app.server.address().port}\n`)
