/** A flood of requests for the files of the page costs the node no more than the budget of its address allows. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { limits } from '../../sdk/contract/limits.ts'
import { exchange } from '../support/http.ts'
import { type ServerProcess, startServerProcess } from '../support/process.ts'

const requests = 10_000
const connections = 8
const mib = 1024 * 1024

let server: ServerProcess
let script: string
let etag: string

beforeAll(async () => {
  const { publicPerSecond, publicBurst } = limits
  server = await startServerProcess({
    settings: { public_per_second: String(publicPerSecond), public_burst: String(publicBurst) },
  })
  const { text } = await exchange(server.url, { method: 'GET', target: '/' })
  script = /src="([^"]+\.js)"/.exec(text)?.[1] ?? ''
  const { headers } = await exchange(server.url, { method: 'GET', target: script })
  etag = String(headers.etag)
})
afterAll(() => server.close())

const open = (localAddress = '127.0.0.1'): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect({ host: hostname, port: Number(port), localAddress })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })

const head = (method: string, path: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${new URL(server.url).host}\r\n${more}\r\n`

/** Sends requests on one connection, 50 at a time, and returns the statuses of their answers. */
async function statusesOf(socket: Socket, all: readonly string[]): Promise<string[]> {
  const statuses: string[] = []
  let rest = ''
  let more = () => {}
  socket.on('data', (chunk) => {
    const text = rest + chunk.toString('latin1')
    let counted = 0
    for (const found of text.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
      statuses.push(found[1] ?? '')
      counted = found.index + found[0].length
    }
    // A status line may be cut in two, and none is counted twice.
    rest = text.slice(Math.max(counted, text.length - 12))
    more()
  })
  for (let sent = 0; sent < all.length; ) {
    const some = all.slice(sent, sent + 50)
    sent += some.length
    socket.write(some.join(''))
    await new Promise<void>((resolve, reject) => {
      socket.once('close', () => reject(new Error(`closed after ${statuses.length} answers`)))
      more = () => {
        if (statuses.length >= sent) resolve()
      }
      more()
    })
  }
  return statuses
}

/** Memory of the server process. */
const resident = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) * 1024

const counted = (statuses: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    [...new Set(statuses)].map((each) => [each, statuses.filter((one) => one === each).length]),
  )

test.skipIf(process.platform !== 'linux')(
  'is answered within the budget, on connections that stay open, and leaves the node small',
  async () => {
    const kinds = [
      () => head('GET', script, 'Accept-Encoding: br\r\n'),
      () => head('GET', script, `If-None-Match: ${etag}\r\n`),
      () => head('HEAD', script),
      () => head('GET', '/assets/none.00000000.js'),
    ]
    const before = resident()
    const begun = performance.now()
    const sockets = await Promise.all(Array.from({ length: connections }, () => open()))
    const each = Array.from({ length: requests / connections }, (_, index) => kinds[index % 4]?.() ?? '')
    const flood = Promise.all(sockets.map((socket) => statusesOf(socket, each)))
    // Another address has a budget of its own while the flood lasts.
    const other = await open('127.0.0.2')
    expect(await statusesOf(other, [head('GET', script, `If-None-Match: ${etag}\r\n`)])).toEqual(['304'])
    other.destroy()
    const statuses = (await flood).flat()
    const seconds = (performance.now() - begun) / 1000
    const {
      200: files = 0,
      304: known = 0,
      404: none = 0,
      405: wrong = 0,
      429: refused = 0,
    } = counted(statuses)
    expect(files + known + none + wrong + refused).toBe(requests)
    expect(wrong).toBe(connections * each.filter((request) => request.startsWith('HEAD')).length)
    // Each of these takes from the budget, also an answer without a body and a file that does not exist.
    expect(files + known + none).toBeLessThanOrEqual(
      limits.publicBurst + limits.publicPerSecond * seconds + 1,
    )
    expect(refused).toBeGreaterThan(requests / 4)
    for (const socket of sockets) {
      expect(await statusesOf(socket, [head('GET', script)])).toHaveLength(1)
      socket.destroy()
    }
    // The heap grows by about 45 MiB before Node collects it. A copy of the script for each request would be 1 GiB.
    expect((resident() - before) / mib).toBeLessThan(128)
  },
)

test.skipIf(process.platform !== 'linux')(
  'of readers that never read holds one copy of the file in memory',
  async () => {
    const before = resident()
    const sockets = await Promise.all(Array.from({ length: 32 }, (_, index) => open(`127.0.1.${index + 1}`)))
    for (const socket of sockets) {
      socket.pause()
      socket.write(head('GET', script).repeat(20))
    }
    // The node answers others, so it has taken what it will take of these.
    for (let round = 0; round < 20; round += 1) {
      const other = await open(`127.0.2.${round + 1}`)
      expect(await statusesOf(other, [head('GET', script, `If-None-Match: ${etag}\r\n`)])).toEqual(['304'])
      other.destroy()
    }
    // 32 × 20 copies of the script would be more than 60 MiB.
    expect((resident() - before) / mib).toBeLessThan(32)
    for (const socket of sockets) socket.destroy()
  },
)
