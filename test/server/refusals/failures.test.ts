/**
 * The answers when the fault is the server's: an internal error, or a stopping server.
 *
 * "500 internal: a bug; logged whole, tells only the request id", "otherwise 503 with ready false". Contract
 * §2, interface §4.4.
 */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { errors } from '../../../sdk/contract/errors.ts'
import { contract } from '../../../sdk/contract/index.ts'
import { RawConnection, requestText } from '../../support/raw-client.ts'
import type { RawReply } from '../../support/raw-replies.ts'
import { expectSame, stored } from '../../support/stored.ts'
import { expectRefusal } from '../endpoints/answers.ts'
import { send } from '../endpoints/send.ts'
import { startWorld, type World } from '../endpoints/world.ts'

test('an internal error is answered with the request id only, and stores nothing', async () => {
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
    expectSame([stored(world.bridge.data)], [before])
    await world.owner.enrollmentCode(params.id, params.agent_id)
  } finally {
    await world.close()
  }
})

/** Sends a request whose last bytes arrive after the server began to stop; returns the answer. */
async function askedTooLate(world: World, bytes: string): Promise<RawReply> {
  // The answer to the first request shows that the server holds the beginning of the second.
  const first = requestText({ target: '/api/health', headers: [['Connection', 'keep-alive']] })
  const connection = new RawConnection(world.bridge.server.port).send(first + bytes.slice(0, -2))
  await connection.replies(1)
  const stopped = world.bridge.server.stop()
  const [, second] = await connection.send(bytes.slice(-2)).repliesOrEnd()
  connection.leave()
  await stopped
  if (second === undefined) throw new Error('the second request was not answered')
  return second
}

test('a stopping server refuses requests and tells when to retry', async () => {
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

test('a stopping server is alive and not ready', async () => {
  const world = await startWorld()
  try {
    const reply = await askedTooLate(world, requestText({ target: '/api/ready' }))
    expect(`${reply.status} ${reply.body}`).toMatch(/^503/)
    expect(JSON.parse(reply.body)).toMatchObject({ ready: false, checks: { auth: true, migrations: true } })
  } finally {
    await world.close()
  }
})
