/**
 * An agent's open wait on the wire: the events that arrived, in order, and how it ended.
 *
 * All three transports have one interface here: event stream, socket, and successive long-polls.
 */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { WebSocket } from 'ws'
import type { TestAgent } from './agent.ts'

export interface StreamEvent {
  readonly type: string
  readonly data: Record<string, unknown>
  /** Arrival time on the monotonic clock of this process. */
  readonly atMs: number
}

export interface Delivered {
  readonly id: string
  readonly body: string
  readonly sequence: number
  readonly conversation_id: string
  readonly delivery: { readonly attempt: number; readonly first_offered_at: string }
}

/** The operations that a test has on every transport. */
export interface OpenStream {
  readonly events: readonly StreamEvent[]
  /** Waits for and returns the first event of a type that was not taken yet. */
  take(type: string): Promise<Record<string, unknown>>
  /** Waits until this many messages have arrived in total and returns all of them. */
  messages(count: number): Promise<readonly Delivered[]>
  /** Resolves when the stream ended, with the HTTP status or the close code. */
  readonly ended: Promise<number>
  /** Resolves when the server holds the wait open. */
  readonly opened: Promise<void>
  /** Waits for the end and returns the server's error code, or undefined if it gave none. */
  reason(): Promise<string | undefined>
  /** Stops reading, so that data from the server stays in the buffers. */
  pause(): void
  resume(): void
  close(): void
}

class Collector {
  readonly events: StreamEvent[] = []
  readonly ended = Promise.withResolvers<number>()
  readonly opened = Promise.withResolvers<void>()
  #taken = new Set<StreamEvent>()
  #waiting: (() => void)[] = []

  add(type: string, data: Record<string, unknown>): void {
    this.events.push({ type, data, atMs: performance.now() })
    for (const wake of this.#waiting.splice(0)) wake()
  }

  take(type: string): Promise<Record<string, unknown>> {
    return this.#until(type, () => {
      const found = this.events.find((event) => event.type === type && !this.#taken.has(event))
      if (found) this.#taken.add(found)
      return found?.data
    })
  }

  messages(count: number): Promise<readonly Delivered[]> {
    return this.#until(`${count} messages`, () => {
      const all = this.events.filter((event) => event.type === 'messages').flatMap(messagesOf)
      return all.length >= count ? all : undefined
    })
  }

  async reason(): Promise<string | undefined> {
    await this.ended.promise
    const last = this.events.findLast(({ type }) => type in reasons)
    return last && reasons[last.type]?.(last.data)
  }

  async #until<T>(what: string, look: () => T | undefined): Promise<T> {
    const deadline = performance.now() + 60_000
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      if (performance.now() > deadline)
        throw new Error(`no ${what} came; there was ${this.events.map((each) => each.type)}`)
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

export const messagesOf = ({ data }: Pick<StreamEvent, 'data'>): Delivered[] => data.messages as Delivered[]

/** Reads the reason of the end from the event of each transport. */
const reasons: Record<string, (data: Record<string, unknown>) => string> = {
  session: (data) => data.code as string,
  refused: (data) => data.error as string,
  error: (data) => (data.error as { error: string }).error,
}

const parts = (collector: Collector) => ({
  events: collector.events,
  ended: collector.ended.promise,
  opened: collector.opened.promise,
  take: (type: string) => collector.take(type),
  messages: (count: number) => collector.messages(count),
  reason: () => collector.reason(),
})

const eventsCall = { method: 'GET', target: '/api/v1/events' } as const

/** Sends one GET with the agent's headers on a new connection. */
function get(agent: TestAgent, target: string, answered: (response: IncomingMessage) => void) {
  const { hostname, port } = new URL(agent.baseUrl)
  const headers = Object.fromEntries(agent.sign({ method: 'GET', target }, ''))
  const call = request({ host: hostname, port, path: target, headers, agent: false }, answered)
  call.end()
  return call
}

export function openEvents(agent: TestAgent): OpenStream {
  const collector = new Collector()
  let answer: IncomingMessage | undefined
  const call = get(agent, eventsCall.target, (response) => {
    answer = response
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
      // A connection that broke in the middle of an answer has given no reason.
      if (response.statusCode !== 200 && response.complete) collector.add('refused', JSON.parse(text))
      collector.ended.resolve(response.statusCode ?? 0)
    })
  })
  call.on('error', () => collector.ended.resolve(0))
  return {
    ...parts(collector),
    pause: () => void answer?.pause(),
    resume: () => void answer?.resume(),
    close: () => void call.destroy(),
  }
}

function readBlock(collector: Collector, block: string): void {
  const fields = new Map(
    block.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
  )
  const type = fields.get('event')
  if (fields.has('retry')) collector.opened.resolve()
  if (type !== undefined) collector.add(type, JSON.parse(fields.get('data') ?? '{}'))
}

export interface OpenSocket extends OpenStream {
  send(frame: string | Buffer): void
  readonly socket: WebSocket
}

/** Opens a socket. `first` replaces the authentication frame; `null` sends none. */
export function openSocket(agent: TestAgent, first?: unknown): OpenSocket {
  const collector = new Collector()
  const socket = new WebSocket(`${agent.baseUrl.replace('http', 'ws')}/api/v1/socket`)
  socket.on('open', () => {
    if (first !== null) socket.send(JSON.stringify(first ?? authenticate(agent)))
  })
  socket.on('message', (bytes: Buffer) => {
    const { type, ...data } = JSON.parse(bytes.toString()) as { type: string }
    if (type === 'ready') collector.opened.resolve()
    collector.add(type, data)
  })
  socket.on('error', () => {})
  socket.on('close', (code) => collector.ended.resolve(code))
  return {
    ...parts(collector),
    socket,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: () => socket.terminate(),
    send: (frame) => socket.send(frame),
  }
}

/** Returns the first frame of a socket, which authenticates the agent. */
export const authenticate = (agent: TestAgent) => ({
  type: 'authenticate',
  headers: Object.fromEntries(agent.sign(eventsCall, '').map(([name, value]) => [name.toLowerCase(), value])),
})

/**
 * Sends long-polls one after the other until one is refused. It ends with that status, or with 0 if the
 * connection broke.
 */
export function openPolls(agent: TestAgent): OpenStream {
  const collector = new Collector()
  let call: ReturnType<typeof get> | undefined
  let closed = false
  const poll = async () => {
    while (!closed) {
      const { status, body } = await pollOnce(agent, (made) => {
        call = made
      })
      if (status !== 200) {
        if (status !== 0) collector.add('refused', body)
        return collector.ended.resolve(status)
      }
      if ((body.messages as unknown[]).length > 0) collector.add('messages', body)
    }
    collector.ended.resolve(0)
  }
  void poll()
  collector.opened.resolve(once(call ?? ({} as never), 'finish').then(() => undefined))
  // `ended` reports an unreachable server; a test that never awaits `opened` must not fail by its rejection.
  collector.opened.promise.catch(() => {})
  return {
    ...parts(collector),
    pause: () => call?.socket?.pause(),
    resume: () => call?.socket?.resume(),
    close: () => {
      closed = true
      call?.destroy()
    },
  }
}

async function pollOnce(
  agent: TestAgent,
  made: (call: ReturnType<typeof get>) => void,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = Promise.withResolvers<{ status: number; body: Record<string, unknown> }>()
  const call = get(agent, '/api/v1/inbox?wait_seconds=20&limit=100', (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    response.on('error', () => answer.resolve({ status: 0, body: {} }))
    response.on('end', () => answer.resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }))
  })
  made(call)
  call.on('error', () => answer.resolve({ status: 0, body: {} }))
  return answer.promise
}

export type Transport = 'event stream' | 'socket' | 'long-poll'

export const transports: readonly (readonly [Transport, (agent: TestAgent) => OpenStream])[] = [
  ['event stream', openEvents],
  ['socket', openSocket],
  ['long-poll', openPolls],
]
