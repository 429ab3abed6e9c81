/** Requests of the observers to the nodes of a harness. A node that is silent for long counts as away. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TestAgent } from '../../../support/agent.ts'
import { type Chance, pick } from '../../../support/chance.ts'
import type { Reply } from '../../../support/http.ts'
import { agentAt } from '../../../support/nodes.ts'
import type { ServerProcess } from '../../../support/process.ts'
import { machineMs } from '../client-log.ts'
import type { Harness } from './harness.ts'
import type { Refusal } from './rules.ts'
import { isSkewed, stoodStill } from './skew.ts'

/** Time until a request that no node answered is repeated. */
const againAfterMs = 30
/** Time until a write is sent to one more node. */
const soonerMs = 250

export class Calls {
  readonly refusals: Refusal[] = []
  readonly #harness: Harness
  readonly #chance: Chance
  readonly #patienceMs: number
  /** Set at the end. A request that no node has granted is then given up. */
  isOver = false

  constructor(harness: Harness, chance: Chance, patienceMs: number) {
    this.#harness = harness
    this.#chance = chance
    this.#patienceMs = patienceMs
  }

  get node(): ServerProcess {
    return pick(this.#chance, this.#harness.nodes) as ServerProcess
  }

  /** The agent at a node, by the clock of the database. */
  at(agent: TestAgent, node = this.node): TestAgent {
    return agentAt(node, agent, this.#harness.now)
  }

  /** Notes a refusal. A record that is not found is a matter of the probes. */
  async noted(what: string, call: Promise<Reply>): Promise<Reply> {
    const begunMs = machineMs()
    const reply = await call
    const { status, headers } = reply
    if (status !== 200 && status !== 404 && !isSkewed(reply) && !stoodStill(reply, begunMs))
      this.refusals.push({ what, status, hasRetryAfter: headers['retry-after'] !== undefined })
    return reply
  }

  /** Resolves with undefined if the node does not answer. */
  answered(call: Promise<Reply>): Promise<Reply | undefined> {
    const late = sleep(this.#patienceMs, undefined, { ref: false })
    return Promise.race([call.catch(() => undefined), late])
  }

  /**
   * Repeats a write, each time at another node, until one grants it. Resolves with undefined at the end.
   *
   * @throws if a node refuses it for good
   */
  async granted(what: string, send: (node: ServerProcess) => Promise<Reply>): Promise<Reply | undefined> {
    let { node } = this
    while (!this.isOver) {
      const reply = await this.answered(this.noted(what, send(node)))
      if (reply?.status === 200) return reply
      if (reply !== undefined && isFinal(reply)) throw new Error(`${what} answered ${reply.text}`)
      const others = this.#harness.nodes.filter((each) => each !== node)
      node = pick(this.#chance, others) ?? node
      await sleep(againAfterMs)
    }
    return undefined
  }

  /**
   * Sends a write to a node, and to the next one every 250 ms, until any of them grants it. So it takes no longer than
   * its lane does, whichever node is silent. Resolves with undefined at the end.
   *
   * @throws if a node refuses it for good
   */
  async soonest(what: string, send: (node: ServerProcess) => Promise<Reply>): Promise<Reply | undefined> {
    const { promise: granted, resolve, reject } = Promise.withResolvers<Reply>()
    granted.catch(() => {})
    const hear = (reply: Reply) => {
      if (reply.status === 200) resolve(reply)
      else if (isFinal(reply)) reject(new Error(`${what} answered ${reply.text}`))
    }
    const { nodes } = this.#harness
    const first = nodes.indexOf(this.node)
    for (let tries = 0; !this.isOver; tries += 1) {
      const node = nodes[(first + tries) % nodes.length] as ServerProcess
      this.noted(what, send(node)).then(hear, () => {})
      const reply = await Promise.race([granted, sleep(soonerMs)])
      if (reply !== undefined) return reply
    }
    return undefined
  }
}

/** Whether another try cannot succeed. */
const isFinal = (reply: Reply): boolean => (reply.status < 500 && !isSkewed(reply)) || isInboxFull(reply)

/** Only an acknowledgement ends this refusal, not another try. */
const isInboxFull = ({ status, json }: Reply): boolean =>
  status === 503 && (json as { details?: { limit?: string } }).details?.limit === 'inbox'
