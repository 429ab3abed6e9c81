/**
 * If a client keeps its side of a refused connection open and sends nothing, the node still closes its socket
 * completely, not only its sending side.
 *
 * Client and server run in this process, so all open sockets beyond the clients' own belong to the server.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../support/bridge.ts'
import { isOnPostgres, onDatabase } from '../support/postgres.ts'

let bridge: TestBridge
let before: number

beforeAll(async () => {
  before = openSockets()
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const openSockets = () => process.getActiveResourcesInfo().filter((each) => each === 'TCPSocketWrap').length

/** Number of the server's connections to PostgreSQL. The refused requests need none. */
const databaseSockets = async (): Promise<number> =>
  isOnPostgres
    ? onDatabase(bridge.data, async (client) => {
        const open = `SELECT pid FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`
        return (await client.query(open)).rows.length
      })
    : 0

/** Sends the bytes and reads until the server has closed its side; this side stays open. */
async function refusedFor(bytes: string): Promise<{ socket: Socket; status: number }> {
  const socket = connect({ host: '127.0.0.1', port: bridge.server.port, allowHalfOpen: true })
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
  })
  socket.write(bytes)
  await once(socket, 'end')
  return { socket, status: Number(text.split(' ')[1]) }
}

const refused: readonly [string, string, number][] = [
  ['no HTTP', 'no request at all\r\n\r\n', 400],
  ['a bad header', 'GET /api/health HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
  ['too long a head', `GET /api/health HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(16_400)}`, 431],
]

test.each(refused)(
  'the node answers a client that sends %s, and closes the socket',
  async (_what, bytes, status) => {
    const idle = before + (await databaseSockets())
    await expect.poll(openSockets).toBe(idle)
    const clients = await Promise.all(Array.from({ length: 5 }, () => refusedFor(bytes)))
    expect(clients.map((each) => each.status)).toEqual(clients.map(() => status))
    await expect.poll(openSockets).toBe(idle + clients.length)
    for (const { socket } of clients) socket.destroy()
    await expect.poll(openSockets).toBe(idle)
  },
)
