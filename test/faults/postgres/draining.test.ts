/**
 * A node that gets SIGTERM hands its work to the others: it lets another one lead, ends its waits, and
 * answers the requests that it has begun. Its clients reach another node through a balancer without affinity.
 */
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listenTransports } from '../../../sdk/delivery/transport-choice.ts'
import type { Bridge } from '../../../sdk/program.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { type Balancer, startBalancer } from '../../support/balancer.ts'
import { closeNodes, readNodes, startNodes } from '../../support/cluster-nodes.ts'
import { agentAt } from '../../support/nodes.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { setUpOwner } from '../../support/owner.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import type { Ending, ServerProcess } from '../../support/process.ts'
import { bridgeOf, Ear } from '../../support/sdk-listener.ts'

/** Listeners of each transport. With a balancer in turns, both nodes hold some of each. */
const each = 2
const rounds = 4
/** From the start of a send until its recipient has the message. */
const arriveWithinMs = 1000
/** From the signal until the other node leads. */
const leadsWithinMs = 2000
/** A busy machine may stand still for a second, and then another drain is measured. */
const drains = 3

postgresOnly()

describe.skipIf(!hasPostgres)('a node that drains', () => {
  let cluster: Cluster
  let nodes: ServerProcess[] = []
  let balancer: Balancer
  let ada: Bridge
  const listeners: { readonly agent: TestAgent; readonly ear: Ear }[] = []

  beforeAll(async () => {
    cluster = await Cluster.start()
    nodes = await startNodes(cluster, 2)
    const [first] = nodes as [ServerProcess]
    balancer = await startBalancer(nodes.map(({ port }) => port))
    const owner = await setUpOwner(first.url, first.setupLink)
    const project = await owner.createProject('demo', { policy: { message_budget: 1_000_000 } })
    const agent = async (name: string) => {
      const { id } = await owner.createAgent(project.id, name)
      const enrolled = await enroll(first.url, await owner.enrollmentCode(project.id, id), () => new Date())
      await enrolled.startSession()
      return agentAt(balancer, enrolled)
    }
    ada = bridgeOf(await agent('ada'))
    for (const transport of listenTransports)
      for (let index = 0; index < each; index += 1) {
        const listener = await agent(`${transport} ${index}`)
        const ear = new Ear(bridgeOf(listener), { transports: [transport] })
        listeners.push({ agent: listener, ear })
        await ear.on(transport)
      }
  })
  afterAll(async () => {
    await Promise.all(listeners.map(({ ear }) => ear.stop()))
    await balancer?.close()
    await closeNodes(nodes)
    await cluster?.close()
  })

  const leaders = async () => (await readNodes(cluster)).filter(({ leads }) => leads).map(({ name }) => name)

  interface Drained {
    readonly leadsMs: number
    readonly arriveMs: number
  }

  /** Sends a message to every listener. Returns the longest time until one has it. */
  async function tell(body: string): Promise<number> {
    const sentMs = performance.now()
    const took = listeners.map(async ({ agent, ear }) => {
      await ada.messages.send({ recipient_agent_id: agent.id, type: 'note', body })
      await ear.heard(body)
      return performance.now() - sentMs
    })
    return Math.max(...(await Promise.all(took)))
  }

  /** Drains the node that leads, and checks that no message is lost meanwhile. */
  async function drain(victim: ServerProcess, other: string, already: number): Promise<Drained> {
    const busy = await holdRequest(victim)
    const beganMs = performance.now()
    const ended = victim.kill('SIGTERM')
    let ending: Ending | undefined
    void ended.then((value) => {
      ending = value
    })
    const leads = expect
      .poll(leaders, { interval: 20 })
      .toEqual([other])
      .then(() => performance.now() - beganMs)
    const arrivals: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      arrivals.push(await tell(`round ${already + round}`))
      // The node still waits for the request that it had begun. After ten seconds it cuts it.
      if (round === 0 && performance.now() - beganMs < 8000) expect(ending).toBeUndefined()
    }
    const leadsMs = await leads
    busy.destroy()
    expect(await ended).toEqual({ code: 0, signal: null })
    for (const { ear } of listeners) expect(new Set(ear.bodies).size).toBe(already + rounds)
    expect((await readNodes(cluster)).map(({ name }) => name)).toEqual([other])
    return { leadsMs, arriveMs: Math.max(...arrivals) }
  }

  test('gives its lead and its waits away at once, and loses no message meanwhile', async () => {
    expect(await leaders()).toEqual(['a'])
    const took: Drained[] = []
    await tell('before')
    // A message takes some time without a drain too, and more on a busy machine.
    const slackMs = 5 * (await tell('usual'))
    const isQuick = ({ leadsMs, arriveMs }: Drained) =>
      leadsMs < leadsWithinMs + slackMs && arriveMs < arriveWithinMs + slackMs
    while (took.length < drains && !took.some(isQuick)) {
      // The other one leads after each drain.
      const index = took.length % 2
      const [victim, other] = [nodes[index], nodes[1 - index]] as [ServerProcess, ServerProcess]
      if (took.length > 0) await other.start()
      took.push(await drain(victim, 'ba'[index] ?? '', 2 + took.length * rounds))
    }
    expect(took.filter(isQuick), JSON.stringify(took)).toHaveLength(1)
  })
})

/** Begins a request whose body does not end, so that the node has something to wait for. */
async function holdRequest({ url, port }: ServerProcess): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  const lines = [
    'POST /api/admin/session HTTP/1.1',
    'Host: x',
    `Origin: ${url}`,
    'Content-Type: application/json',
    'Content-Length: 100',
  ]
  await new Promise<void>((resolve) => socket.write(`${lines.join('\r\n')}\r\n\r\n{`, () => resolve()))
  // Answered after the node has read the bytes above.
  await fetch(`${url}/api/health`)
  return socket
}
