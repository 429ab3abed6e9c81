/** An enrolled agent of a test bridge as a user of the SDK has it, and the messages that it receives. */
import {
  Bridge,
  type BridgeOptions,
  Identity,
  type IdentityRecord,
  type ListenOptions,
  type ListenTransport,
  type Receipt,
  type ReceivedMessage,
  type SessionStore,
  type StoredSession,
} from '../../sdk/program.ts'
import type { TestAgent } from './agent.ts'

/** A session store with the agent's existing session, as in a profile. */
export function sessionsOf(agent: TestAgent): SessionStore & { stored: StoredSession } {
  const store = {
    stored: {
      instance_id: agent.instanceId,
      session_id: agent.session?.id ?? null,
      generation: agent.session?.generation ?? null,
      policy: null,
      clock_offset_ms: 0,
    } as StoredSession,
    load: async () => store.stored,
    save: async (session: StoredSession) => {
      store.stored = session
    },
  }
  return store
}

export const identityOf = (agent: TestAgent): Identity =>
  new Identity(agent.enrolled as unknown as IdentityRecord, { privateKey: agent.keys.privateKey })

/** The agent's Bridge with its existing session, connected to its node or to a proxy in front of it. */
export const bridgeOf = (agent: TestAgent, options: Partial<BridgeOptions> = {}): Bridge =>
  new Bridge({ baseUrl: agent.baseUrl, identity: identityOf(agent), sessions: sessionsOf(agent), ...options })

/** A monotonic clock that also runs normally and that a test can advance. */
export function movableMs(): (() => number) & { advance(ms: number): void } {
  let ahead = 0
  const read = () => performance.now() + ahead
  return Object.assign(read, {
    advance(ms: number) {
      ahead += ms
    },
  })
}

/**
 * Records every event of a listener from the start. Each wait is for an event, and fails if the event never
 * arrives.
 */
export class Ear {
  readonly messages: ReceivedMessage[] = []
  readonly transports: ListenTransport[] = []
  readonly receipts: Receipt[] = []
  readonly connection: string[] = []
  /** Resolves with the error that ended it, or with undefined. */
  readonly ended: Promise<unknown>
  readonly #stop = new AbortController()
  readonly #waiting = new Set<() => void>()
  #isOver = false

  constructor(bridge: Bridge, options: ListenOptions = {}) {
    this.ended = this.#listen(bridge, options).finally(() => {
      this.#isOver = true
      this.#told()
    })
  }

  get bodies(): string[] {
    return this.messages.map(({ body }) => body)
  }

  /** Resolves when the condition is true; fails if listening ended before, or after a minute. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(
      () => late.reject(new Error(`${what}: did not come in time, heard ${this}`)),
      60_000,
    )
    try {
      while (!holds()) {
        if (this.#isOver) throw new Error(`${what}: listening ended before, ${String(await this.ended)}`)
        await Promise.race([new Promise<void>((resolve) => this.#waiting.add(resolve)), late.promise])
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves when the listener uses this transport. */
  on(transport: ListenTransport): Promise<void> {
    return this.until(`to listen by ${transport}`, () => this.transports.at(-1) === transport)
  }

  heard(body: string): Promise<void> {
    return this.until(`to hear ${body}`, () => this.bodies.includes(body))
  }

  /** Aborts listening; resolves when it has ended. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.ended
  }

  toString(): string {
    return JSON.stringify({ bodies: this.bodies, transports: this.transports, connection: this.connection })
  }

  async #listen(bridge: Bridge, options: ListenOptions): Promise<unknown> {
    const told = <T>(list: T[]) => {
      return (item: T) => {
        list.push(item)
        this.#told()
      }
    }
    const connected = told(this.connection)
    const received = told(this.messages)
    try {
      const listening = bridge.listen({
        signal: this.#stop.signal,
        onTransport: told(this.transports),
        onConnection: (away) => connected(away?.message ?? 'back'),
        onReceipts: (receipts) => receipts.forEach(told(this.receipts)),
        ...options,
      })
      for await (const message of listening) received(message)
      return undefined
    } catch (error) {
      return error
    }
  }

  #told(): void {
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
