/** Thousands of listeners, each only a connection and the bytes that open it. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { TestAgent } from '../../support/agent.ts'
import { authenticate } from '../../support/streams.ts'
import { requestBytes } from '../messages/connection.ts'

export interface Dialect {
  /** The bytes that are sent first. */
  readonly opens: (agent: TestAgent) => Buffer
  /** The bytes that are sent once the server accepted the connection. */
  readonly accepted?: (agent: TestAgent) => Buffer
  /** The text by which the server shows that it holds the wait; undefined if it sends none. */
  readonly held: string | undefined
}

const upgrade = Buffer.from(
  [
    'GET /api/v1/socket HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n'),
)

/** Returns a text frame as a client sends it, masked with zeros. */
function frame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = Buffer.from([0x81, 0x80 | 126, length >> 8, length & 0xff, 0, 0, 0, 0])
  return Buffer.concat([head, Buffer.from(text)])
}

export const transports: readonly (readonly [name: string, dialect: Dialect])[] = [
  [
    'socket',
    {
      opens: () => upgrade,
      accepted: (agent) => frame(JSON.stringify(authenticate(agent))),
      held: '"ready"',
    },
  ],
  ['SSE', { opens: (agent) => requestBytes(agent, { target: '/api/v1/events' }), held: 'retry: ' }],
  [
    'long-poll',
    { opens: (agent) => requestBytes(agent, { target: '/api/v1/inbox?wait_seconds=20' }), held: undefined },
  ],
]

export interface Crowd {
  /** Resolves when each of them listens, if the server shows that. */
  add(agents: readonly TestAgent[]): Promise<void>
  /** @throws Error if not all of them still listen */
  requireAll(count: number): void
  close(): void
}

/** The number of connections opened in parallel: below the limit of unauthenticated ones per address. */
const width = 30

export function openCrowd(port: number, dialect: Dialect): Crowd {
  const sockets = new Set<Socket>()
  const open = async (agent: TestAgent) => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    await once(socket, 'connect')
    socket.write(dialect.opens(agent))
    if (dialect.accepted !== undefined) {
      await once(socket, 'data')
      socket.write(dialect.accepted(agent))
    }
    if (dialect.held !== undefined) await heard(socket, dialect.held)
    // A long-poll that was answered is no longer waiting.
    else socket.once('data', () => socket.destroy())
    sockets.add(socket)
  }
  return {
    async add(agents) {
      const waiting = agents.values()
      const work = async () => {
        for (const agent of waiting) await open(agent)
      }
      await Promise.all(Array.from({ length: width }, work))
    },
    requireAll(count) {
      if (sockets.size !== count) throw new Error(`${sockets.size} of ${count} listeners are left`)
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Long enough for a machine that runs other programs too. */
const heardMs = 60_000

/** @throws Error with the text that arrived instead */
function heard(socket: Socket, words: string): Promise<void> {
  const told = Promise.withResolvers<void>()
  let text = ''
  const listen = (chunk: string) => {
    text += chunk
    if (text.includes(words)) told.resolve()
  }
  const fail = () => told.reject(new Error(`a listener heard ${JSON.stringify(text)} in place of ${words}`))
  const timer = setTimeout(fail, heardMs)
  socket.on('data', listen).once('close', fail)
  return told.promise.finally(() => {
    clearTimeout(timer)
    socket.off('data', listen).off('close', fail)
  })
}
