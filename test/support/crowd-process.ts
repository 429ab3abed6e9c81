/**
 * Many listeners in one process, each as cheap as possible: one socket, prebuilt request bytes, and a search
 * for one expected text. The server is measured, so the client must not be the bottleneck.
 *
 * Started by `crowd.ts` with an IPC channel: it receives the listeners, then reports when all are open, when
 * one is opened again, and when each got its message.
 */
import { connect, type Socket } from 'node:net'
import { importPrivateKey } from '../../sdk/signing/keys.ts'
import { TestAgent } from './agent.ts'
import type { CrowdMember, CrowdOrder, CrowdReport } from './crowd.ts'
import type { Transport } from './streams.ts'

/** The reconnection delay that an ended event stream requests. */
const retryMs = 250
/** The number of connections opened in parallel: below the limit of unauthenticated sockets per address. */
const width = 30

const report = (what: CrowdReport) => process.send?.(what)

class Listener {
  readonly #agent: TestAgent
  readonly #port: number
  readonly #speak: Dialect
  readonly #arrived: () => void
  readonly #opened = Promise.withResolvers<void>()
  #done = false

  constructor(agent: TestAgent, speak: Dialect, arrived: () => void) {
    this.#agent = agent
    this.#port = Number(new URL(agent.baseUrl).port)
    this.#speak = speak
    this.#arrived = arrived
  }

  /** Resolves when the server has answered, or after sending if an open wait shows no answer yet. */
  open(): Promise<void> {
    const socket = connect(this.#port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.write(this.#speak.first(this.#agent))
    socket.on('data', (bytes) => this.#hear(socket, bytes))
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.#done) return
      report({ openedAgain: 1 })
      setTimeout(() => this.open(), retryMs)
    })
    if (this.#speak.opens === undefined) socket.once('connect', () => this.#opened.resolve())
    return this.#opened.promise
  }

  #hear(socket: Socket, bytes: Buffer): void {
    const { opens, message, ended, next } = this.#speak
    if (opens !== undefined && bytes.includes(opens)) this.#opened.resolve()
    if (bytes.includes(message)) {
      if (!this.#done) this.#arrived()
      this.#done = true
    } else {
      const answer = next(this.#agent, bytes)
      if (answer !== undefined) socket.write(answer)
      if (ended !== undefined && bytes.includes(ended)) this.#comeBack(socket)
    }
  }

  #comeBack(socket: Socket): void {
    setTimeout(() => socket.write(this.#speak.first(this.#agent)), retryMs)
  }
}

/** The requests of one transport, and the texts that it expects. */
interface Dialect {
  first(agent: TestAgent): Buffer
  /** The text that shows that the server holds the wait; undefined if the transport has none. */
  readonly opens?: string
  readonly message: string
  /** The text that shows that the wait ended while its connection stays open. */
  readonly ended?: string
  /** Returns the reply to any other received data. */
  next(agent: TestAgent, heard: Buffer): Buffer | undefined
}

const get = (agent: TestAgent, target: string): Buffer => {
  const lines = agent.sign({ method: 'GET', target }, '').map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`GET ${target} HTTP/1.1\r\nHost: bridge.example\r\n${lines.join('')}\r\n`)
}

/** A client must mask its frames; a mask of zeros leaves the bytes unchanged. */
function clientFrame(opcode: number, text: string): Buffer {
  const payload = Buffer.from(text)
  const length =
    payload.length < 126 ? [0x80 | payload.length] : [0x80 | 126, payload.length >> 8, payload.length & 255]
  return Buffer.concat([Buffer.from([0x80 | opcode, ...length, 0, 0, 0, 0]), payload])
}

const upgrade = [
  'GET /api/v1/socket HTTP/1.1',
  'Host: bridge.example',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  '\r\n',
].join('\r\n')
const [pingOpcode, pongOpcode, textOpcode] = [9, 10, 1]

function authenticate(agent: TestAgent): Buffer {
  const headers = agent.sign({ method: 'GET', target: '/api/v1/events' }, '')
  const frame = {
    type: 'authenticate',
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
  }
  return clientFrame(textOpcode, JSON.stringify(frame))
}

const poll = (agent: TestAgent) => get(agent, '/api/v1/inbox?wait_seconds=20')

const dialects: Readonly<Record<Transport, Dialect>> = {
  'event stream': {
    first: (agent) => get(agent, '/api/v1/events'),
    opens: 'retry:',
    message: 'event: messages',
    // The last chunk, which is empty.
    ended: '0\r\n\r\n',
    next: () => undefined,
  },
  socket: {
    first: () => Buffer.from(upgrade),
    opens: '"type":"ready"',
    message: '"type":"messages"',
    next(agent, heard) {
      if (heard.includes('101 Switching Protocols')) return authenticate(agent)
      return heard[0] === (0x80 | pingOpcode) ? clientFrame(pongOpcode, '') : undefined
    },
  },
  'long-poll': {
    first: poll,
    message: '"messages":[{',
    next: (agent, heard) => (heard.includes('"messages":[]') ? poll(agent) : undefined),
  },
}

async function listenAll({ server, projectId, transport, members }: CrowdOrder): Promise<void> {
  const clock = () => new Date()
  const listeners = members.map((member, index) => {
    const agent = asAgent(server, projectId, member, clock)
    return new Listener(agent, dialects[transport], () => report({ arrived: index, atMs: now() }))
  })
  const waiting = listeners.values()
  const worker = async () => {
    for (const listener of waiting) await listener.open()
  }
  await Promise.all(Array.from({ length: width }, worker))
  report({ opened: listeners.length })
}

/** The machine's clock, so that the times of two processes are comparable. */
const now = () => performance.timeOrigin + performance.now()

function asAgent(
  server: CrowdOrder['server'],
  projectId: string,
  member: CrowdMember,
  clock: () => Date,
): TestAgent {
  const keys = { publicKey: member.publicKey, privateKey: importPrivateKey(member.privateKey) }
  const enrolled = {
    server_id: server.serverId,
    credential_id: member.credentialId,
    agent: { id: member.agentId, name: member.agentId },
    project: { id: projectId },
  }
  const agent = new TestAgent(server.url, keys, enrolled, clock)
  agent.session = { id: member.sessionId, generation: 1 }
  return agent
}

process.on('message', (order: CrowdOrder) => void listenAll(order))
process.on('disconnect', () => process.exit(0))
