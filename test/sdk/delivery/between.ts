/**
 * A TCP proxy between an agent and its node that causes faults on purpose.
 *
 * - It parses only the first line of each request, which shows whether a socket or a stream is requested.
 * - Random numbers come from a seed, with one generator per connection, in the order of the connections.
 * - `open` counts the open connections; `close` closes all of them.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { chanceFrom } from '../../support/chance.ts'

export interface Harm {
  /** The handling of an upgrade: answered by the proxy itself, reset, or ignored. */
  readonly upgrades?: 'answered' | 'reset' | 'swallowed'
  /** Holds an event stream back until the node has ended it. */
  readonly buffersStreams?: true
  /** Percentages of chunks: those delayed by `lateMs`, and those cut in half with a reset. */
  readonly loss?: {
    readonly seed: number
    readonly late: number
    readonly lateMs: number
    readonly cut: number
  }
}

export interface Between {
  readonly url: string
  /** May be replaced at any time; applies to later connections and chunks. */
  harm: Harm
  /** The number of connections from the agent that are open now. */
  readonly open: number
  /** The first lines of requests, in order. */
  readonly asked: readonly string[]
  /** The number of chunks that were delayed, and of those that were cut, so far. */
  readonly lost: { late: number; cut: number }
  /** Resets every connection. */
  cut(): void
  /** Stops forwarding without closing a connection, so that both sides believe they are connected. */
  freeze(): void
  thaw(): void
  close(): Promise<void>
}

/** Starts the proxy for a node that listens on `port`. */
export async function startBetween(port: number, harm: Harm = {}): Promise<Between> {
  const passages = new Set<Passage>()
  const asked: string[] = []
  const lost = { late: 0, cut: 0 }
  let count = 0
  let frozen = false
  const server = createServer({ noDelay: true }, (agent) => {
    count += 1
    const passage = new Passage(agent, connect({ port, host: '127.0.0.1', noDelay: true }), {
      nth: count,
      harm: () => between.harm,
      isFrozen: () => frozen,
      asked: (line) => asked.push(line),
      lost,
    })
    passages.add(passage)
    agent.once('close', () => passages.delete(passage))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const passage of [...passages]) passage.cut()
  }
  const between: Between = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    harm,
    get open() {
      return passages.size
    },
    asked,
    lost,
    cut,
    freeze: () => {
      frozen = true
    },
    thaw: () => {
      frozen = false
    },
    close: async () => {
      server.close()
      cut()
      await once(server, 'close')
    },
  }
  return between
}

interface Surroundings {
  readonly nth: number
  readonly harm: () => Harm
  readonly isFrozen: () => boolean
  readonly asked: (line: string) => void
  readonly lost: { late: number; cut: number }
}

/** One connection of the agent, with the proxy's connection to the node. */
class Passage {
  readonly #agent: Socket
  readonly #node: Socket
  readonly #surroundings: Surroundings
  readonly #random: (() => number) | undefined
  #kept: Buffer[] | undefined
  #swallows = false

  constructor(agent: Socket, node: Socket, surroundings: Surroundings) {
    this.#agent = agent
    this.#node = node
    this.#surroundings = surroundings
    const { loss } = surroundings.harm()
    this.#random = loss && chanceFrom(loss.seed + surroundings.nth)
    agent.on('error', () => node.destroy())
    node.on('error', () => this.cut())
    agent.on('close', () => node.destroy())
    node.on('close', () => agent.end())
    agent.on('data', (bytes) => this.#toNode(bytes))
    node.on('data', (bytes) => this.#toAgent(bytes))
    node.on('end', () => {
      for (const bytes of this.#kept?.splice(0) ?? []) agent.write(bytes)
    })
  }

  cut(): void {
    this.#agent.resetAndDestroy()
    this.#node.destroy()
  }

  #toNode(bytes: Buffer): void {
    const line = /^(?:GET|POST) \S+/.exec(bytes.toString('latin1'))?.[0]
    if (line !== undefined) this.#surroundings.asked(line)
    const { upgrades, buffersStreams } = this.#surroundings.harm()
    if (line === 'GET /api/v1/events' && buffersStreams) this.#kept ??= []
    if (line === 'GET /api/v1/socket' && upgrades !== undefined) this.#harmUpgrade(upgrades)
    else this.#pass(bytes, this.#agent, this.#node)
  }

  #harmUpgrade(how: NonNullable<Harm['upgrades']>): void {
    if (how === 'reset') this.cut()
    if (how === 'swallowed') this.#swallows = true
    if (how !== 'answered') return
    const page = '<h1>This web site is not approved</h1>'
    this.#agent.end(
      `HTTP/1.1 403 Forbidden\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    )
  }

  #toAgent(bytes: Buffer): void {
    if (this.#kept === undefined) this.#pass(bytes, this.#node, this.#agent)
    else if (this.#endsStream(bytes)) {
      for (const kept of [...this.#kept.splice(0), bytes]) this.#agent.write(kept)
      this.#kept = undefined
    } else this.#kept.push(bytes)
  }

  /** Whether the bytes end with the last chunk of a chunked answer. */
  #endsStream(bytes: Buffer): boolean {
    return bytes.subarray(-5).toString('latin1') === '0\r\n\r\n'
  }

  #pass(bytes: Buffer, from: Socket, to: Socket): void {
    const { isFrozen, harm } = this.#surroundings
    if (isFrozen() || this.#swallows || to.destroyed) return
    const { loss } = harm()
    const drawn = loss === undefined || this.#random === undefined ? 100 : this.#random() * 100
    if (loss === undefined || drawn >= loss.late + loss.cut) {
      to.write(bytes)
    } else if (drawn < loss.cut) {
      this.#surroundings.lost.cut += 1
      to.write(bytes.subarray(0, bytes.length / 2), () => this.cut())
    } else {
      this.#surroundings.lost.late += 1
      // The order is kept, as for a retransmitted TCP segment: later bytes wait for this one.
      from.pause()
      setTimeout(() => {
        if (!to.destroyed) to.write(bytes)
        from.resume()
      }, loss.lateMs)
    }
  }
}
