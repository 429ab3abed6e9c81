/**
 * The capabilities in the bootstrap match the node: each one shown as true is used here, and each one shown
 * as false is refused. For a full disk see test/faults/full-disk.test.ts.
 *
 * Contract §5.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Bootstrap } from '../../sdk/contract/agent/bootstrap.ts'
import type { TestAgent } from '../support/agent.ts'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { act, fileOf, offer, offerBody, putPart, told } from '../support/files.ts'
import { openEvents, openSocket } from '../support/streams.ts'

let bridge: TestBridge
afterEach(() => bridge.close())

const bytes = fileOf(3000)
const capabilities = async (agent: TestAgent) =>
  (await agent.ok<Bootstrap>({ target: '/api/v1/bootstrap', session: null })).capabilities

const given = (fields: object = {}) => ({ from: bridge.ada, to: bridge.ben, bytes, fields })
const expiring = () => new Date(bridge.clock().getTime() + 600_000).toISOString()
const endpoint = () => ({
  endpoint: 'https://files.example',
  token: 'T'.repeat(43),
  expires_at: expiring(),
  helper_mode: 'download',
})

async function deposited() {
  const { id } = await offer(given({ mode: 'direct' }))
  await act(bridge.ben, id, 'accept')
  return told(await act(bridge.ada, id, 'secret', endpoint()))
}

test('a node with default settings offers every capability and supports it', async () => {
  bridge = await startBridge()
  const { ada } = bridge
  expect(await capabilities(ada)).toEqual({
    inbox: true,
    sse: true,
    socket: true,
    packages: true,
    direct: true,
  })
  expect((await ada.inbox()).messages).toEqual([])
  const events = openEvents(ada)
  await events.opened
  events.close()
  const socket = openSocket(ada)
  await socket.take('ready')
  socket.close()
  const { id } = await offer(given())
  expect(told(await putPart(ada, id, 0, bytes))).toEqual([200, undefined])
  expect(await deposited()).toEqual([200, undefined])
})

test.each(['package_bytes', 'packages_bytes', 'sender_packages_bytes'])(
  'a node whose %s is 0 offers no packages and refuses them',
  async (setting) => {
    bridge = await startBridge({ settings: { [setting]: '0' } })
    expect(await capabilities(bridge.ada)).toMatchObject({ packages: false, direct: true })
    const body = await offerBody(given())
    expect((await bridge.ada.call({ target: '/api/v1/transfers', body })).status).toBeGreaterThanOrEqual(400)
    expect(await deposited()).toEqual([200, undefined])
  },
)

test('a node without its envelope key offers no direct transfers and refuses their endpoints', async () => {
  bridge = await startBridge()
  rmSync(join(bridge.data, 'envelope.key'))
  expect(await capabilities(bridge.ada)).toMatchObject({ packages: true, direct: false })
  expect(await deposited()).toEqual([503, 'unavailable'])
})
