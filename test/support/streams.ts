/** An agent's open stream or socket, as raw as the wire has it: what arrived, in order, and how it ended. */
import { request } from 'node:http'
import { WebSocket } from 'ws'
import type { TestAgent } from './agent.ts'

export interface StreamEvent {
  readonly type: string
  readonly data: Record<string, unknown>
}

/** What both transports let a test do. */
export interface OpenStream {
  readonly events: readonly StreamEvent[]
  /** The first event of a type that was not taken yet; waits for it. */
  take(type: string): Promise<Record<string, unknown>>
  /** Resolves when the stream ended: the HTTP status, or the close code. */
  readonly ended: Promise<number>
  close(): void
}

class Collector {
  readonly events: StreamEvent[] = []
  #taken = new Set<StreamEvent>()
  #waiting: (() => void)[] = []

  add(event: StreamEvent): void {
    this.events.push(event)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async take(type: string): Promise<Record<string, unknown>> {
    const deadline = Date.now() + 30_000
    for (;;) {
      const found = this.events.find((event) => event.type === type && !this.#taken.has(event))
      if (found) {
        this.#taken.add(found)
        return found.data
      }
      if (Date.now() > deadline)
        throw new Error(`no ${type} came; there was ${this.events.map((each) => each.type)}`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 1000)
        this.#waiting.push(() => {
          clearTimeout(timer)
          resolve()
        })
      })
    }
  }
}

const eventsCall = { method: 'GET', target: '/api/v1/events' } as const

export function openEvents(agent: TestAgent): OpenStream {
  const collector = new Collector()
  const ended = Promise.withResolvers<number>()
  const { hostname, port } = new URL(agent.baseUrl)
  const headers = Object.fromEntries(agent.sign(eventsCall, ''))
  const call = request(
    { host: hostname, port, path: eventsCall.target, headers, agent: false },
    (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          readBlock(collector, text.slice(0, end))
          text = text.slice(end + 2)
        }
      })
      response.on('error', () => {})
      response.on('close', () => {
        if (response.statusCode !== 200) collector.add({ type: 'refused', data: JSON.parse(text) })
        ended.resolve(response.statusCode ?? 0)
      })
    },
  )
  call.on('error', () => ended.resolve(0))
  call.end()
  return {
    events: collector.events,
    take: (type) => collector.take(type),
    ended: ended.promise,
    close: () => call.destroy(),
  }
}

function readBlock(collector: Collector, block: string): void {
  const fields = new Map(
    block.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
  )
  const type = fields.get('event')
  if (type !== undefined) collector.add({ type, data: JSON.parse(fields.get('data') ?? '{}') })
}

export function openSocket(agent: TestAgent, first?: unknown): OpenStream & { send(frame: string): void } {
  const collector = new Collector()
  const ended = Promise.withResolvers<number>()
  const socket = new WebSocket(`${agent.baseUrl.replace('http', 'ws')}/api/v1/socket`)
  socket.on('open', () => {
    const headers = Object.fromEntries(
      agent.sign(eventsCall, '').map(([name, value]) => [name.toLowerCase(), value]),
    )
    if (first !== null) socket.send(JSON.stringify(first ?? { type: 'authenticate', headers }))
  })
  socket.on('message', (bytes: Buffer) => {
    const { type, ...data } = JSON.parse(bytes.toString()) as { type: string }
    collector.add({ type, data })
  })
  socket.on('error', () => {})
  socket.on('close', (code) => ended.resolve(code))
  return {
    events: collector.events,
    take: (type) => collector.take(type),
    ended: ended.promise,
    close: () => socket.terminate(),
    send: (frame) => socket.send(frame),
  }
}
