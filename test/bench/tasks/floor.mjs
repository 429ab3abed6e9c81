// Floor of tasks: the smallest server that does the same durable work with the same rows, in raw SQL. Imports
// nothing of the product. Every request is verified, on the thread pool if there is a queue. It then writes
// the nonce, reads the session, looks up the stored answer, and writes the task or changes it by
// compare-and-set. It also writes the message with the next number of the conversation, the count of the
// inbox, the audit record, and the idempotency record with the answer. Requests of one turn share one durable
// transaction, each in a savepoint. It has no validation, no permissions, no limits, integer keys, and only
// the indexes that keep rows unique. node floor.mjs FOLDER prints its port.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { fastify } from 'fastify'

const [, , folder] = process.argv
const database = new Database(join(folder, 'floor.db'))
database.pragma('journal_mode = WAL')
database.pragma('synchronous = FULL')
database.pragma('wal_autocheckpoint = 4000')
database.exec(`
  CREATE TABLE sessions (id TEXT PRIMARY KEY, state TEXT NOT NULL, generation INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE conversations (id INTEGER PRIMARY KEY, last_sequence INTEGER NOT NULL);
  CREATE TABLE inboxes (agent TEXT PRIMARY KEY, waiting INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE tasks (id INTEGER PRIMARY KEY, creator TEXT NOT NULL, assignee TEXT NOT NULL, title TEXT NOT NULL,
    instructions TEXT NOT NULL, state TEXT NOT NULL, generation INTEGER NOT NULL, claim_ends_at TEXT, result TEXT,
    evidence TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
  CREATE TABLE messages (id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, sequence INTEGER NOT NULL, sender TEXT NOT NULL,
    recipient TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL, task INTEGER, created_at TEXT NOT NULL,
    UNIQUE (conversation, sequence));
  CREATE TABLE nonces (credential TEXT NOT NULL, nonce BLOB NOT NULL, signed_at INTEGER NOT NULL,
    PRIMARY KEY (credential, nonce)) WITHOUT ROWID;
  CREATE TABLE idempotency (principal TEXT NOT NULL, key TEXT NOT NULL, fingerprint BLOB NOT NULL, answer TEXT NOT NULL,
    created_at TEXT NOT NULL, PRIMARY KEY (principal, key));
  CREATE TABLE audit (id INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, actor TEXT NOT NULL, subject INTEGER,
    request_id TEXT NOT NULL, details TEXT NOT NULL);
  INSERT INTO conversations VALUES (1, 0);
`)
const prepare = (sql) => database.prepare(sql)
const statements = {
  begin: prepare('BEGIN IMMEDIATE'),
  commit: prepare('COMMIT'),
  savepoint: prepare('SAVEPOINT one'),
  undo: prepare('ROLLBACK TO one'),
  release: prepare('RELEASE one'),
  session: prepare('SELECT state, generation FROM sessions WHERE id = ?'),
  nonce: prepare('INSERT INTO nonces VALUES (?, ?, ?)'),
  stored: prepare('SELECT fingerprint, answer FROM idempotency WHERE principal = ? AND key = ?'),
  store: prepare('INSERT INTO idempotency VALUES (?, ?, ?, ?, ?)'),
  create: prepare(
    "INSERT INTO tasks VALUES (NULL, ?, ?, ?, ?, 'open', 0, NULL, NULL, NULL, ?, ?) RETURNING *",
  ),
  claim: prepare(
    `UPDATE tasks SET state = 'claimed', generation = generation + 1, claim_ends_at = ?, updated_at = ?
      WHERE id = ? AND state = 'open' RETURNING *`,
  ),
  complete: prepare(
    `UPDATE tasks SET state = 'completed', claim_ends_at = NULL, result = ?, evidence = ?, updated_at = ?
      WHERE id = ? AND state = 'claimed' AND generation = ? RETURNING *`,
  ),
  number: prepare(
    'UPDATE conversations SET last_sequence = last_sequence + 1 WHERE id = 1 RETURNING last_sequence',
  ).pluck(),
  message: prepare("INSERT INTO messages VALUES (NULL, 1, ?, 'system', ?, 'task', ?, ?, ?)"),
  countIn: prepare(
    'INSERT INTO inboxes VALUES (?, 1) ON CONFLICT (agent) DO UPDATE SET waiting = waiting + 1',
  ),
  audit: prepare('INSERT INTO audit VALUES (NULL, ?, ?, ?, ?, ?, ?)'),
}

const keys = new Map()
let requests = 0
let waiting = []
let verifying = 0

/** Resolves with the answer once its commit is durable. */
function stored(call) {
  if (waiting.length === 0) setImmediate(commit)
  return new Promise((resolve) => {
    waiting.push({ call, resolve })
  })
}

function commit() {
  const group = waiting
  waiting = []
  statements.begin.run()
  const answers = group.map(({ call }) => perform(call))
  statements.commit.run()
  for (const [index, { resolve }] of group.entries()) resolve(answers[index])
}

/** Returns the bytes of the answer, or undefined for a refusal, which stores only the nonce. */
function perform({ id, nonce, time, key, url, bytes }) {
  statements.nonce.run(id, createHash('sha256').update(nonce).digest(), Number(time))
  statements.savepoint.run()
  const fingerprint = createHash('sha256').update(url).update(bytes).digest()
  const answer = once(id, key, fingerprint, () => effect(id, url, bytes))
  if (answer === undefined) statements.undo.run()
  statements.release.run()
  return answer
}

function once(principal, key, fingerprint, effectOf) {
  const stored = statements.stored.get(principal, key)
  if (stored !== undefined) return stored.fingerprint.equals(fingerprint) ? stored.answer : undefined
  const done = effectOf()
  if (done === undefined) return undefined
  const answer = JSON.stringify(done)
  statements.store.run(principal, key, fingerprint, answer, done.updated_at)
  return answer
}

function effect(id, url, bytes) {
  const session = statements.session.get(id)
  if (session?.state !== 'active') return undefined
  const body = JSON.parse(bytes)
  const now = new Date().toISOString()
  const [, , task, verb = 'create'] = url.split('/')
  const row = changed[verb]({ body, now, task, by: id })
  if (row === undefined) return undefined
  const to = verb === 'create' ? row.assignee : row.creator
  statements.message.run(statements.number.get(), to, `${verb}: ${row.title}`, row.id, now)
  statements.countIn.run(to)
  requests += 1
  statements.audit.run(
    now,
    `task.${verb}`,
    id,
    row.id,
    String(requests),
    JSON.stringify({ state: row.state }),
  )
  return { ...row, claim: { generation: row.generation, session_generation: session.generation } }
}

const changed = {
  create: ({ body, now, by }) =>
    statements.create.get(by, body.assignee_agent_id, body.title, body.instructions, now, now),
  claim: ({ now, task }) => statements.claim.get(new Date(Date.now() + 300_000).toISOString(), now, task),
  complete: ({ body, now, task }) =>
    statements.complete.get(body.result, JSON.stringify(body.evidence), now, task, body.claim_generation),
}

const signedText = ({ method, url, headers }, id, bytes) =>
  [
    'bridge-request-v1',
    'floor',
    id,
    method,
    url,
    createHash('sha256').update(bytes).digest('hex'),
    headers['x-bridge-time'],
    headers['x-bridge-nonce'],
    headers['x-bridge-session'] ?? '-',
    headers['idempotency-key'] ?? '-',
  ].join('\n')

/** The first two of a turn are verified synchronously, the others on the thread pool. */
function verified(key, text, proof) {
  verifying += 1
  if (verifying > 2)
    return new Promise((resolve) => {
      verify(null, text, key, proof, (_error, holds) => {
        verifying -= 1
        resolve(holds === true)
      })
    })
  setImmediate(() => {
    verifying -= 1
  })
  return verify(null, text, key, proof)
}

const app = fastify()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))

app.post('/key', async (request) => {
  const body = JSON.parse(request.body)
  keys.set(body.id, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: body.x }, format: 'jwk' }))
  prepare("INSERT INTO sessions VALUES (?, 'active', 1)").run(body.id)
  return {}
})

const act = async ({ headers, raw, body: bytes }, reply) => {
  const id = headers.authorization.slice('AgentKey '.length)
  const proof = Buffer.from(headers['x-bridge-proof'], 'base64url')
  const text = signedText(raw, id, bytes)
  if (!(await verified(keys.get(id), Buffer.from(text), proof))) return reply.code(401).send({})
  const time = headers['x-bridge-time']
  const nonce = headers['x-bridge-nonce']
  const call = { id, nonce, time, key: headers['idempotency-key'], url: raw.url, bytes }
  const answer = await stored(call)
  if (answer === undefined) return reply.code(409).send({})
  return reply.type('application/json').send(answer)
}
app.post('/tasks', act)
app.post('/tasks/:id/:verb', act)

await app.listen({ port: 0, host: '127.0.0.1' })
process.stdout.write(`${app.server.address().port}\n`)
