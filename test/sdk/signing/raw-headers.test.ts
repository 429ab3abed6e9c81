import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { ApiError } from '../../../server/api-error.ts'
import { presented } from '../../../server/identity/raw-headers.ts'

const credentialId = '0b9d7a54-3c1e-4f0b-8f6a-2d1f5f7c9e10'
const session = '5a3f0c1d-9e2b-4a76-8c4d-7b6e5f4a3c2d'
const authorization = ['Authorization', `AgentKey ${credentialId}`]

test('every header of the protocol is read byte for byte, with its name in any case', () => {
  expect(
    presented([
      'Host',
      'bridge.example',
      'authorization',
      `AgentKey ${credentialId}`,
      'X-BRIDGE-TIME',
      'noon',
      'x-bridge-nonce',
      'n',
      'X-Bridge-Proof',
      'p',
      'X-Bridge-Device',
      '{}',
      'X-Bridge-Session',
      session,
      'idempotency-key',
      'msg-0001',
    ]),
  ).toEqual({
    credentialId,
    secret: undefined,
    time: 'noon',
    nonce: 'n',
    proof: 'p',
    device: '{}',
    session,
    idempotencyKey: 'msg-0001',
  })
})

test('absent headers are undefined, and a legacy secret is separated from the id', () => {
  const secret = 's'.repeat(43)
  expect(presented(['Authorization', `AgentKey ${credentialId}.${secret}`])).toEqual({
    credentialId,
    secret,
    time: undefined,
    nonce: undefined,
    proof: undefined,
    device: undefined,
    session: undefined,
    idempotencyKey: undefined,
  })
})

test.each([
  'Authorization',
  'X-Bridge-Time',
  'X-Bridge-Nonce',
  'X-Bridge-Proof',
  'X-Bridge-Device',
  'X-Bridge-Session',
])('a second %s is unauthenticated, by name, also if it is equal or empty', (name) => {
  for (const value of [session, '']) {
    const fault = faultOf([...authorization, name, value, name.toUpperCase(), value])
    expect(fault).toMatchObject({ code: 'unauthenticated', status: 401 })
    expect(fault.message).toContain(name)
  }
})

test('a second Idempotency-Key is an invalid request', () => {
  const twice = [...authorization, 'Idempotency-Key', 'msg-0001', 'idempotency-key', 'msg-0001']
  expect(faultOf(twice)).toMatchObject({
    code: 'invalid_request',
    details: { faults: [{ path: 'header Idempotency-Key', problem: 'must be sent only once' }] },
  })
})

test.each([
  '',
  'AgentKey',
  `AgentKey  ${credentialId}`,
  `agentkey ${credentialId}`,
  `AgentKey ${credentialId}.`,
])('the Authorization "%s" is unauthenticated', (value) => {
  const fault = faultOf(['Authorization', value])
  expect(fault.code).toBe('unauthenticated')
  expect(fault.message).not.toContain(credentialId)
})

test('no header at all is unauthenticated', () => {
  expect(faultOf([]).code).toBe('unauthenticated')
})

test.each(['', '-', 'current', session.toUpperCase(), `${session}0`])(
  'the session "%s" is an invalid request',
  (value) => {
    expect(faultOf([...authorization, 'X-Bridge-Session', value])).toMatchObject({
      code: 'invalid_request',
      status: 422,
      details: { faults: [{ path: 'header X-Bridge-Session', problem: 'must be a lower-case uuid' }] },
    })
  },
)

test.each(['', '-', 'seven77', 'k'.repeat(129), 'with space', 'clé-0001'])(
  'the key "%s" is an invalid request',
  (value) => {
    expect(faultOf([...authorization, 'Idempotency-Key', value])).toMatchObject({
      code: 'invalid_request',
      details: { faults: [{ path: 'header Idempotency-Key' }] },
    })
  },
)

test("two Authorization lines are refused in Node's raw list, although its header object has only one", async () => {
  let seen: { one: string | undefined; raw: string[] } = { one: undefined, raw: [] }
  const server = createServer((request, response) => {
    seen = { one: request.headers.authorization, raw: request.rawHeaders }
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const line = `${authorization.join(': ')}\r\n`
  socket.end(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}${line}\r\n`)
  socket.resume()
  await once(socket, 'close')
  server.close()
  await once(server, 'close')

  expect(seen.one).toBe(authorization[1])
  expect(faultOf(seen.raw).code).toBe('unauthenticated')
})

function faultOf(rawHeaders: readonly string[]): ApiError {
  try {
    presented(rawHeaders)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('the headers were accepted')
}
