// Floor of tasks: a bare HTTP server over SQLite that verifies each request's signature and nonce, and stores a task with its
// message, a claim, a result. Writes that wait together share one durable transaction. Imports nothing of the product.
// node floor.mjs FOLDER; prints its port.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'

const [, , folder] = process.argv
const database = new Database(join(folder, 'floor.db'))
database.pragma('journal_mode = WAL')
database.pragma('synchronous = FULL')
database.exec(`
  CREATE TABLE tasks (id INTEGER PRIMARY KEY, state TEXT NOT NULL, generation INTEGER NOT NULL, body TEXT NOT NULL, result TEXT);
  CREATE TABLE messages (id INTEGER PRIMARY KEY, task_id INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE TABLE nonces (nonce TEXT PRIMARY KEY) WITHOUT ROWID;
`)
const statements = {
  nonce: database.prepare('INSERT INTO nonces VALUES (?)'),
  task: database.prepare("INSERT INTO tasks (state, generation, body) VALUES ('open', 0, ?)"),
  message: database.prepare('INSERT INTO messages (task_id, body) VALUES (?, ?)'),
  claim: database.prepare(
    "UPDATE tasks SET state = 'claimed', generation = generation + 1 WHERE id = ? AND state = 'open'",
  ),
  complete: database.prepare(
    "UPDATE tasks SET state = 'completed', result = ? WHERE id = ? AND state = 'claimed' AND generation = ?",
  ),
}

const keys = new Map()
let waiting = []

function commit() {
  const group = waiting
  waiting = []
  database.exec('BEGIN IMMEDIATE')
  const answers = group.map(({ work }) => work())
  database.exec('COMMIT')
  for (const [index, { response }] of group.entries()) response.end(JSON.stringify(answers[index]))
}

function enqueue(response, work) {
  if (waiting.length === 0) setImmediate(commit)
  waiting.push({ response, work })
}

function isSigned(request, bytes) {
  const { headers } = request
  const id = headers.authorization.slice('AgentKey '.length)
  const text = [
    'bridge-request-v1',
    headers['x-server'] ?? 'floor',
    id,
    request.method,
    request.url,
    createHash('sha256').update(bytes).digest('hex'),
    headers['x-bridge-time'],
    headers['x-bridge-nonce'],
    headers['x-bridge-session'] ?? '-',
    headers['idempotency-key'] ?? '-',
  ].join('\n')
  return verify(null, Buffer.from(text), keys.get(id), Buffer.from(headers['x-bridge-proof'], 'base64url'))
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const bytes = Buffer.concat(chunks)
    const body = JSON.parse(bytes)
    if (request.url === '/key') {
      keys.set(body.id, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: body.x }, format: 'jwk' }))
      return response.end('{}')
    }
    if (!isSigned(request, bytes)) {
      response.statusCode = 401
      return response.end('{}')
    }
    const nonce = request.headers['x-bridge-nonce']
    const [, , id = '', verb] = request.url.split('/')
    enqueue(response, () => {
      statements.nonce.run(nonce)
      if (verb === undefined) {
        const { lastInsertRowid } = statements.task.run(body.instructions)
        statements.message.run(lastInsertRowid, body.title)
        return { id: Number(lastInsertRowid) }
      }
      const { changes } =
        verb === 'claim' ? statements.claim.run(id) : statements.complete.run(body.result, id, 1)
      return { id, changes, claim: { generation: 1, session_generation: 1 } }
    })
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`))
