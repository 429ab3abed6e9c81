/** Nodes that each reach the database through a proxy of its own, and a sender that calls any of them. */
import { TestAgent } from '../../../support/agent.ts'
import { type People, settlePeople } from '../../../support/people.ts'
import type { Cluster } from '../../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../../support/process.ts'
import { type Switch, startSwitch } from '../../../support/switch.ts'

export interface ProxiedNode {
  readonly server: ServerProcess
  readonly way: Switch
}

/** Without a shared store the nodes take no packages. */
const quiet = { log_level: 'warn', package_bytes: '0' }

/** Starts a node. `beside` is one of the others. */
export async function startProxied(
  cluster: Cluster,
  name: string,
  beside: ServerProcess | undefined,
): Promise<ProxiedNode> {
  const way = await startSwitch(cluster.port)
  const settings = { ...quiet, database: way.urlOf(cluster.url), node_name: name }
  return { way, server: await startServerProcess({ settings, joins: beside }) }
}

export async function closeProxied(nodes: readonly ProxiedNode[]): Promise<void> {
  for (const { server, way } of nodes.toReversed()) {
    await server.close()
    await way.close()
  }
}

export const readinessOf = async ({ server }: ProxiedNode) => (await fetch(`${server.url}/api/ready`)).status

/** A sender that dates its requests later than the floor of a loss, which is 30 s ahead. */
export class LateSender {
  readonly people: People
  readonly #conversation: string
  #session: TestAgent['session']

  private constructor(people: People, conversation: string) {
    this.people = people
    this.#conversation = conversation
    this.#session = people.ada.session
  }

  static async settle({ server }: ProxiedNode): Promise<LateSender> {
    const people = await settlePeople(server, { message_budget: 1_000_000 })
    return new LateSender(people, await people.ada.conversationWith(people.ben.id))
  }

  #at({ server }: ProxiedNode): TestAgent {
    const { keys, enrolled } = this.people.ada
    const sender = new TestAgent(server.url, keys, enrolled, () => new Date(Date.now() + 29_000))
    sender.session = this.#session
    return sender
  }

  /** Returns the status. */
  async send(node: ProxiedNode, body: string): Promise<number> {
    const to = { conversation_id: this.#conversation, recipient_agent_id: this.people.ben.id }
    const sending = { ...to, type: 'note', body }
    return (await this.#at(node).call({ target: '/api/v1/messages', body: sending })).status
  }

  /** Starts a session once the node allows it. `bridge server restored` has fenced all sessions. */
  async startSession(
    node: ProxiedNode,
    until: (status: () => Promise<number>) => Promise<void>,
  ): Promise<void> {
    const sender = this.#at(node)
    await until(async () => (await sender.requestSession()).status)
    this.#session = await sender.startSession()
  }
}
