/** Hooks at a node whose certificate comes from an authority that only the profile knows. */
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { type Chain, certificateChain } from '../../support/certificates.ts'
import { Desk } from '../../support/desk.ts'
import { enrolled } from '../../support/profiles.ts'
import { contextOf, HookFrame } from './frame.ts'

let bridge: TestBridge
let desk: Desk
let chain: Chain
let node: Server
let record: object
let sessions = 0
let frame: HookFrame

const events = ['SessionStart', 'UserPromptSubmit', 'Stop']

/** Forwards every request to the node. */
async function inFront(cert: string, key: string): Promise<Server> {
  const { hostname, port } = new URL(bridge.url)
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const onward = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

beforeAll(async () => {
  bridge = await startBridge()
  desk = await Desk.make()
  chain = await certificateChain()
  const { cert, key } = await chain.server()
  node = await inFront(cert, key)
  const { id } = await enrolled(bridge, desk, 'cleo')
  await bridge.owner.message(bridge.project.id, id, 'mail')
  record = JSON.parse(readFileSync(desk.path('cleo', 'profile.json'), 'utf8'))
})
afterAll(async () => {
  node.closeAllConnections()
  node.close()
  await desk.remove()
  await bridge.close()
})
beforeEach(() => {
  sessions += 1
  frame = new HookFrame(desk.home, 'cleo', { sessionId: `s${sessions}` })
  rmSync(frame.places.log, { force: true })
  rmSync(frame.places.holder, { force: true })
})

function trusting(ca: string): void {
  const { port } = node.address() as AddressInfo
  writeFileSync(
    desk.path('cleo', 'profile.json'),
    JSON.stringify({ ...record, base_url: `https://localhost:${port}`, ca }),
  )
}

test.each(events)('%s tells of mail', async (event) => {
  trusting(chain.root.cert)
  expect(contextOf(await frame.run('claude', event))).toContain('1 unacknowledged message')
  expect(frame.log).toMatchObject([{ outcome: 'noticed', failed: false }])
})

test('a waiter wakes its session', async () => {
  trusting(chain.root.cert)
  let woken = 0
  const end = await frame.wait({
    wake: (_session, { total }) => {
      woken = total
    },
  })
  expect([end, woken]).toEqual(['woke', 1])
})

test.each(events)('%s tells of nothing if the authority is another one', async (event) => {
  trusting((await certificateChain()).root.cert)
  expect(await frame.run('claude', event)).toEqual({ exit: 0, stdout: '', stderr: '' })
  expect(frame.log).toMatchObject([{ outcome: 'certificate_refused', failed: true }])
})
