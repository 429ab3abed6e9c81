/**
 * Agents that wait for messages through the load balancer, one by each transport, and the time until such a
 * wait is back at another node after its node was killed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ListenTransport, listenTransports } from '../../../../sdk/delivery/transport-choice.ts'
import type { Bridge } from '../../../../sdk/program.ts'
import { enroll } from '../../../support/agent.ts'
import { bridgeOf, Ear } from '../../../support/sdk-listener.ts'
import { type Harness, nodeNames } from './harness.ts'
import { RequestLog } from './request-log.ts'

const lookAgainMs = 20
const gaveUpMs = 30_000

export interface Return {
  readonly transport: ListenTransport
  /** From the kill until another node has stored that it has the wait. */
  readonly backMs: number
  /** From then until a message that is sent at that moment has arrived. */
  readonly heardMs: number
  /** The slow and the failed requests of the waiting agent from the kill until it was back. */
  readonly requests: readonly string[]
}

interface Waiter {
  readonly transport: ListenTransport
  readonly agentId: string
  readonly ear: Ear
  readonly bridge: Bridge
  readonly requests: RequestLog
}

interface Place {
  readonly node_id: string
  readonly name: (typeof nodeNames)[number]
}

export class Waiters {
  readonly #harness: Harness
  readonly #sender: Bridge
  readonly #waiters: readonly Waiter[]
  #turn = 0

  private constructor(harness: Harness, sender: Bridge, waiters: readonly Waiter[]) {
    this.#harness = harness
    this.#sender = sender
    this.#waiters = waiters
  }

  /** The sign-in of the owner must be confirmed. */
  static async start(harness: Harness): Promise<Waiters> {
    const { owner, url } = harness
    const project = await owner.createProject('waiters', { policy: { message_budget: 1_000_000 } })
    const person = async (name: string) => {
      const { id } = await owner.createAgent(project.id, name)
      const agent = await enroll(url, await owner.enrollmentCode(project.id, id), () => new Date())
      await agent.startSession()
      return agent
    }
    const sender = bridgeOf(await person('sender'))
    const waiters: Waiter[] = []
    for (const transport of listenTransports) {
      const agent = await person(transport)
      const requests = new RequestLog(transport)
      const bridge = bridgeOf(agent, { fetch: requests.fetch })
      waiters.push({
        requests,
        transport,
        agentId: agent.id,
        bridge,
        ear: new Ear(bridge, { transports: [transport] }),
      })
    }
    const all = new Waiters(harness, sender, waiters)
    // A listener that has never reached a node ends with its first failure.
    for (const waiter of waiters) await all.#tell(waiter)
    return all
  }

  /** Kills the node that has the wait of the next transport. `meanwhile` runs before the node starts again. */
  async killNode(meanwhile: () => Promise<unknown>): Promise<Return> {
    const waiter = this.#waiters[this.#turn % this.#waiters.length] as Waiter
    this.#turn += 1
    const place = await this.#placeOf(waiter)
    const killedMs = performance.now()
    let backMs = Number.POSITIVE_INFINITY
    let heardMs = Number.POSITIVE_INFINITY
    let requests: readonly string[] = []
    await this.#harness.killNode(nodeNames.indexOf(place.name), async () => {
      await this.#placeOf(waiter, place.node_id)
      backMs = performance.now() - killedMs
      requests = waiter.requests.between(killedMs, killedMs + backMs)
      heardMs = await this.#tell(waiter)
      await meanwhile()
    })
    return { transport: waiter.transport, backMs, heardMs, requests }
  }

  /** Sends a message. Resolves with the milliseconds until it has arrived. */
  async #tell({ agentId, ear }: Waiter): Promise<number> {
    const body = randomUUID()
    const sentMs = performance.now()
    await this.#sender.messages.send({ recipient_agent_id: agentId, type: 'note', body })
    await ear.heard(body)
    return performance.now() - sentMs
  }

  /** Resolves with the node that has the wait, as soon as it is another one than `left`. */
  async #placeOf({ agentId, transport, ear }: Waiter, left = ''): Promise<Place> {
    const ended = ear.ended.then((error) => Promise.reject(error))
    ended.catch(() => {})
    const begunMs = performance.now()
    while (performance.now() - begunMs < gaveUpMs) {
      // A killed node has left its rows.
      const [place] = await this.#harness.primary.query<Place>(
        `SELECT node_id, name FROM listeners JOIN nodes ON nodes.id = node_id
         WHERE agent_id = $1 AND listening = 1 AND node_id <> $2 ORDER BY since DESC LIMIT 1`,
        [agentId, left],
      )
      if (place !== undefined) return place
      await Promise.race([sleep(lookAgainMs), ended])
    }
    throw new Error(`no node has the wait by ${transport}: ${ear}`)
  }

  async close(): Promise<void> {
    for (const { ear, bridge, requests } of this.#waiters) {
      await ear.stop()
      await bridge.close()
      await requests.close()
    }
    await this.#sender.close()
  }
}

/** The slowest of these returns by one transport, and the requests of that one. */
export function toldOfReturns(returns: readonly Return[], transport: ListenTransport): string {
  const its = returns.filter((each) => each.transport === transport)
  const [slowest] = its.toSorted((one, other) => other.backMs - one.backMs)
  if (slowest === undefined) return `no wait was by ${transport}`
  const heardMs = Math.max(...its.map((each) => each.heardMs))
  const told = `${its.length} waits by ${transport} were back within ${Math.round(slowest.backMs)} ms, heard within`
  return [`${told} ${Math.round(heardMs)} ms`, ...slowest.requests].join('\n')
}
