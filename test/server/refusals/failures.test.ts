/**
 * What a caller hears when the fault is the server's: a bug, or an end that has begun.
 *
 * "500 internal: a bug; logged whole, tells only the request id"; "otherwise 503 with ready false". Contract
 * §2; interface §4.4.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { errors } from '../../../sdk/contract/errors.ts'
import { contract } from '../../../sdk/contract/index.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'
import { type RawReply, repliesIn, requestText } from './raw-socket.ts'
import { stored } from './stored.ts'

test('a bug tells the request id and nothing else, and stores nothing', async () => {
  let broken = false
  const random = (bytes: number) => {
    if (broken && bytes === 18) throw new Error('at /srv/bridge/secret.ts: SELECT token FROM codes')
    return randomBytes(bytes)
  }
  const world = await startWorld({ random })
  try {
    const params = { id: world.bridge.project.id, agent_id: world.bridge.ada.id }
    const before = stored(world.bridge.data)
    broken = true
    const reply = await send(contract.owner.enrollments.create, { by: world.owner, params, body: {} })
    broken = false
    expect(expectRefusal(reply, 'internal')).toEqual({
      error: 'internal',
      message: errors.internal.meaning,
      request_id: reply.headers['x-request-id'],
    })
    expect(stored(world.bridge.data)).toEqual(before)
    await world.owner.enrollmentCode(params.id, params.agent_id)
  } finally {
    await world.close()
  }
})

/** What a request is answered whose last bytes come after the server began to stop. */
async function askedTooLate(world: World, bytes: string): Promise<RawReply> {
  const { port } = world.bridge.server
  const socket = connect({ host: '127.0.0.1', port })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  const ended = once(socket, 'close')
  // The answer to the first shows that the server holds the beginning of the second.
  const first = requestText({ target: '/api/health', headers: [['Connection', 'keep-alive']] })
  socket.write(first + bytes.slice(0, -2))
  await once(socket, 'data')
  const stopped = world.bridge.server.stop()
  socket.write(bytes.slice(-2))
  await Promise.all([ended, stopped])
  const [, second] = repliesIn(Buffer.concat(chunks).toString('utf8'))
  if (second === undefined) throw new Error('the second request was not answered')
  return second
}

test('a server that stops refuses work and says when to come back', async () => {
  const world = await startWorld()
  try {
    const headers = world.bridge.ada.sign({ target: '/api/v1/peers' }, '')
    const reply = await askedTooLate(world, requestText({ target: '/api/v1/peers', headers }))
    expect(reply.status).toBe(503)
    expect(reply.headers['retry-after']).toBe('1')
    expect(JSON.parse(reply.body)).toMatchObject({ error: 'unavailable', retry_after_ms: 1000 })
  } finally {
    await world.close()
  }
})

test('a server that stops is alive and not ready', async () => {
  const world = await startWorld()
  try {
    const reply = await askedTooLate(world, requestText({ target: '/api/ready' }))
    expect(`${reply.status} ${reply.body}`).toMatch(/^503/)
    expect(JSON.parse(reply.body)).toMatchObject({ ready: false, checks: { auth: true, migrations: true } })
  } finally {
    await world.close()
  }
})
