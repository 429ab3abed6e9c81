/**
 * The time from sending to receipt at a steady 200 messages per second; sender and listeners share one clock.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { TestAgent } from '../../support/agent.ts'
import type { Measured } from '../measured.ts'
import { Connection, percentile, requestBytes } from './connection.ts'
import type { Listen, Received } from './listening.ts'
import { type Pair, sends } from './world.ts'

const perSecond = 200

export interface Latency {
  readonly p50: number
  readonly p99: number
  /** Processor time of the server per message. */
  readonly cpuUs: number
}

/** `sendsTo` is another node of the same database, by default the server itself. */
export async function latencies(
  server: Measured,
  pairs: readonly Pair[],
  listen: Listen,
  seconds: number,
  sendsTo = server,
): Promise<Latency> {
  const { port } = server
  const requests = sends(pairs, Math.round(perSecond * seconds))
  const sentAt: number[] = []
  const took = new Map<number, number>()
  const open = new Map(pairs.map(({ recipient }) => [recipient, [] as string[]]))
  const received = (recipient: TestAgent) => (message: Received) => {
    open.get(recipient)?.push(message.id)
    const number = Number.parseInt(message.body, 10)
    took.set(number, performance.now() - (sentAt[number] ?? Number.NaN))
  }
  const connections: Connection[] = []
  const free: Connection[] = []
  const send = async (request: Buffer) => {
    const connection = free.pop() ?? (await Connection.open(sendsTo.port))
    if (!connections.includes(connection)) connections.push(connection)
    await connection.ask(request)
    free.push(connection)
  }
  const closing = await Promise.all(
    pairs.map(({ recipient }) => listen(port, recipient, received(recipient))),
  )
  // The pause lets the first polls reach the server.
  await pause(200)
  try {
    const used = await server.usage()
    const began = performance.now()
    const answers = requests.map(async (request, number) => {
      const due = began + (number * 1000) / perSecond
      await pause(Math.max(0, due - performance.now()))
      sentAt[number] = performance.now()
      await send(request)
    })
    await Promise.all(answers)
    for (let left = 100; took.size < requests.length && left > 0; left -= 1) await pause(20)
    if (took.size < requests.length) throw new Error(`${requests.length - took.size} messages did not come`)
    const cpuMs = (await server.usage()).cpuMs - used.cpuMs
    const all = [...took.values()]
    return {
      p50: percentile(all, 0.5),
      p99: percentile(all, 0.99),
      cpuUs: (cpuMs * 1000) / requests.length,
    }
  } finally {
    for (const close of closing) close()
    // Messages of this round must not be offered again in another one.
    await acknowledge(port, open)
    for (const connection of connections) connection.close()
  }
}

async function acknowledge(port: number, open: ReadonlyMap<TestAgent, readonly string[]>): Promise<void> {
  const connection = await Connection.open(port)
  const target = '/api/v1/acknowledgements'
  for (const [agent, ids] of open) {
    for (let from = 0; from < ids.length; from += 100) {
      const body = { message_ids: ids.slice(from, from + 100) }
      await connection.ask(requestBytes(agent, { target, body, key: null }))
    }
  }
  connection.close()
}
