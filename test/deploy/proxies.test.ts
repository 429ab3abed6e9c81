/**
 * A node behind each reverse proxy as configured in examples/deploy. Skipped if the program is missing.
 *
 * BRIDGE_LARGE_PARTS=1 moves the largest part through each proxy, instead of through one of them.
 */
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TestAgent } from '../support/agent.ts'
import { trustAlso } from '../support/authorities.ts'
import { type BridgeOptions, startBridge, type TestBridge } from '../support/bridge.ts'
import { act, offer, upload } from '../support/files.ts'
import { framingCases } from '../support/framing-cases.ts'
import { freePort } from '../support/free-port.ts'
import { exchange } from '../support/http.ts'
import { ownerName, ownerPassword } from '../support/owner.ts'
import { bridgeOf, Ear } from '../support/sdk-listener.ts'
import { answersTo } from './answers.ts'
import { proxies, type ReverseProxy } from './proxies.ts'

let bridge: TestBridge
let proxy: ReverseProxy

const largest = 96 * 1024 * 1024
const chosen = proxies.find(({ isInstalled }) => isInstalled)?.name
const movesLargest = (name: string) => name === chosen || process.env.BRIDGE_LARGE_PARTS !== undefined

for (const { name, isInstalled, start } of proxies)
  describe.runIf(isInstalled)(`behind ${name}`, () => {
    beforeAll(async () => {
      const settings: NonNullable<BridgeOptions['settings']> = { trusted_proxy: '127.0.0.1' }
      const first = await startBridge({ settings })
      const port = await freePort()
      // The people are created first, because a test's owner signs in at the node itself.
      settings.portal_origin = `https://localhost:${port}`
      settings.failed_auth_per_minute = '2'
      bridge = await first.restart()
      proxy = await start(bridge.server.port, port)
    })
    trustAlso(() => proxy.authority)
    afterAll(async () => {
      await proxy?.close()
      await bridge?.close()
    })

    // The order matters: if an event stream ended at its client and not yet at the node, it would be offered
    // the next message.
    test.each(['socket', 'sse', 'long-poll'] as const)(
      'messages arrive immediately over %s',
      async (transport) => {
        const { url: baseUrl } = proxy
        const conversation_id = await bridge.ada.conversationWith(bridge.ben.id)
        const sender = bridgeOf(bridge.ada, { baseUrl })
        const client = bridgeOf(bridge.ben, { baseUrl, transports: [transport] })
        const ear = new Ear(client)
        const send = (body: string) =>
          sender.messages.send({ conversation_id, recipient_agent_id: bridge.ben.id, type: 'note', body })
        try {
          await send(`first over ${transport}`)
          await ear.heard(`first over ${transport}`)
          // Sent into an open wait: if a buffer held the message back, it would arrive at the end of the
          // wait, after 20 seconds.
          const began = performance.now()
          await send(`then over ${transport}`)
          await ear.heard(`then over ${transport}`)
          expect(performance.now() - began).toBeLessThan(10_000)
          expect(ear.transports).toEqual([transport])
        } finally {
          for (const message of ear.messages) await message.acknowledge()
          await ear.stop()
          await client.close()
          await sender.close()
        }
      },
    )

    test('an owner signs in with the origin of the proxy, and the cookie is for that origin only', async () => {
      const signIn = (origin: string) =>
        exchange(proxy.url, {
          method: 'POST',
          target: '/api/admin/session',
          headers: [
            ['Origin', origin],
            ['Content-Type', 'application/json'],
          ],
          body: JSON.stringify({ name: ownerName, password: ownerPassword }),
        })
      const reply = await signIn(proxy.url)
      expect([reply.status, reply.headers['set-cookie']?.[0]]).toEqual([
        200,
        expect.stringMatching(/^__Host-bridge_owner=.*; Secure; HttpOnly/),
      ])
      expect((await signIn(bridge.url)).status).toBe(403)
    })

    test('a body of 96 MiB reaches the node, which refuses it, and not the proxy', async () => {
      const { status, error } = await sendBytes(proxy.url, largest)
      expect(`${status} ${error}`).toBe('413 body_too_large')
    })

    const size = movesLargest(name) ? largest : largest / 12
    test(`a part of ${size / 1024 ** 2} MiB can be uploaded and downloaded`, async () => {
      const { ada, ben } = bridge
      const through = (agent: TestAgent) => {
        const other = new TestAgent(proxy.url, agent.keys, agent.enrolled, bridge.clock)
        other.session = agent.session
        return other
      }
      const bytes = Buffer.alloc(size, 'a part of a package ')
      const transfer = await offer({ from: ada, to: ben, bytes })
      await upload(through(ada), transfer, bytes)
      await act(ben, transfer.id, 'accept')
      const target = `/api/v1/transfers/${transfer.id}/package/parts/0`
      const { headers, bytes: came } = await through(ben).call({ target })
      expect([headers['x-content-sha256'], came.equals(bytes)]).toEqual([transfer.sha256, true])
      await act(ada, transfer.id, 'cancel')
    })

    test('the proxy and not the client sets the client address, and a client with too many failures is refused', async () => {
      const statuses: number[] = []
      for (const forged of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
        const headers = [['X-Forwarded-For', forged]] as const
        statuses.push((await exchange(proxy.url, { method: 'GET', target: '/api/v1/peers', headers })).status)
      }
      expect(statuses).toEqual([401, 401, 429])
    })

    describe('never gives more answers than requests', () => {
      test('for any bytes sent as one request', async () => {
        const answers = await Promise.all(
          Object.entries(framingCases).map(async ([name, bytes]) => {
            const statuses = await answersTo(proxy.plainUrl, bytes)
            return { name, count: statuses.length }
          }),
        )
        expect(answers.filter(({ count }) => count > 1)).toEqual([])
        // Nearly all are answered, so the comparison is meaningful.
        expect(answers.filter(({ count }) => count === 1).length).toBeGreaterThan(answers.length * 0.8)
      })

      test('and answers successive requests one for one', async () => {
        const open = 'GET /api/health HTTP/1.1\r\nHost: bridge.test\r\n\r\n'
        const last = open.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
        // The node closes the connection after the last answer.
        expect(await answersTo(proxy.plainUrl, open + open + last, 60_000)).toEqual([200, 200, 200])
      })
    })
  })

/** Sends a body of this length as far as it is accepted; the answer may arrive before its end. */
function sendBytes(url: string, length: number): Promise<{ status: number; error: string | undefined }> {
  const chunk = Buffer.alloc(1024 * 1024)
  const headers = { 'content-length': length, 'content-type': 'application/json', origin: url }
  return new Promise((resolve, reject) => {
    const call = request(`${url}/api/v1/enrollments/claim`, { method: 'POST', headers }, async (response) => {
      let text = ''
      for await (const part of response) text += part
      resolve({ status: response.statusCode ?? 0, error: /"error":"([a-z_]+)"/.exec(text)?.[1] })
    })
    call.on('error', reject)
    let left = length
    const more = (): void => {
      while (left > 0) {
        left -= chunk.length
        if (!call.write(chunk)) return void call.once('drain', more)
      }
      call.end()
    }
    more()
  })
}
