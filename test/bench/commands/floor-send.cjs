// Floor of a one-shot send: reads its identity, signs, syncs one outbox record, posts once, and removes the
// record. Imports nothing of the product. Usage: node floor-send.cjs FOLDER PORT TEXT
const { createPrivateKey, hash, randomBytes, sign } = require('node:crypto')
const { closeSync, fsyncSync, openSync, readFileSync, unlinkSync, writeSync } = require('node:fs')
const { request } = require('node:http')

const [, , folder, port, text] = process.argv
const { serverId, credentialId, sessionId, conversationId, peerId } = JSON.parse(
  readFileSync(`${folder}/profile.json`, 'utf8'),
)
const key = createPrivateKey(readFileSync(`${folder}/key.pem`))

const target = '/api/v1/messages'
const body = JSON.stringify({
  conversation_id: conversationId,
  recipient_agent_id: peerId,
  type: 'note',
  body: text,
})
const nonce = randomBytes(16).toString('base64url')
const idempotencyKey = randomBytes(16).toString('base64url')

const record = `${folder}/${idempotencyKey}.sending`
const file = openSync(record, 'wx', 0o600)
writeSync(file, JSON.stringify({ target, body, idempotencyKey }))
fsyncSync(file)
closeSync(file)

const time = String(Math.floor(Date.now() / 1000))
const digest = hash('sha256', body)
const lines = ['bridge-request-v1', serverId, credentialId, 'POST', target, digest, time, nonce, sessionId]
const signed = [...lines, idempotencyKey].join('\n')
const headers = {
  authorization: `AgentKey ${credentialId}`,
  'x-bridge-time': time,
  'x-bridge-nonce': nonce,
  'x-bridge-proof': sign(null, Buffer.from(signed), key).toString('base64url'),
  'x-bridge-session': sessionId,
  'idempotency-key': idempotencyKey,
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
}
const call = request({ host: '127.0.0.1', port, path: target, method: 'POST', headers }, (response) => {
  let answer = ''
  response.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk
  })
  response.on('end', () => {
    if (response.statusCode !== 200) throw new Error(answer)
    unlinkSync(record)
    process.stdout.write(`stored ${JSON.parse(answer).message.id}\n`)
  })
})
call.end(body)
