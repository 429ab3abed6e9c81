/**
 * Many simultaneous waits: this many listeners per transport on one process, and a message to each of one
 * transport.
 *
 * - Each listener gets its message soon after the node stored it. A wait that the message does not end takes
 *   twenty seconds.
 * - A message costs the node little processor time, which other processes of the machine do not affect.
 * - `BRIDGE_LISTENERS=5000` is the full figure, for a quiet machine. It also checks the time from the first
 *   message sent to the last one delivered.
 * - The measured cost is printed.
 *
 * Promise F21; contract §6.
 */
import { readFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { type Crowd, openCrowd } from '../../support/crowd.ts'
import { exchange } from '../../support/http.ts'
import { asTestAgent, type Population, populate } from '../../support/population.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { type Transport, transports } from '../../support/streams.ts'
import { soon } from '../../support/waits.ts'
import { sendAll } from './senders.ts'

const isFullFigure = process.env.BRIDGE_LISTENERS !== undefined
const listeners = Number(process.env.BRIDGE_LISTENERS ?? 300)
const senders = 50
const sentWithinMs = 1000
const withinMs = 3000
/** Processor time of the node for a message: about five times what it takes. */
const messageCpuMs = 10

test(`${listeners} listeners of each transport each get their message soon after it was stored`, async () => {
  const server = await startServerProcess({ settings: { max_waits: '100000', rate_burst: '1000000' } })
  await server.kill('SIGTERM')
  const population = populate(server.data, senders + 3 * listeners, senders)
  await server.start()
  const crowds: Open[] = []
  try {
    const { json } = await exchange(server.url, { method: 'GET', target: '/api/health' })
    const where = { url: server.url, serverId: (json as { server_id: string }).server_id }
    const people = population.agents.map((each) => asTestAgent(where, population.projectId, each))
    for (const [index, [transport]] of transports.entries()) {
      const first = senders + index * listeners
      const before = usage(server)
      const seeded = population.agents.slice(first, first + listeners)
      const crowd = await openCrowd({ server: where, projectId: population.projectId, transport }, seeded)
      crowds.push({ transport, crowd, first, residentKb: 0 })
      await allListen(people, first)
      const opened = crowds.at(-1) as Open
      opened.residentKb = usage(server).residentKb - before.residentKb
    }
    const woken: Woken[] = []
    for (const open of crowds) woken.push(await wake(server, population, people, open))
    for (const { lastMs, lastStoredMs, cpuMs } of woken) {
      expect(lastMs - lastStoredMs).toBeLessThan(withinMs)
      expect(cpuMs / listeners).toBeLessThan(messageCpuMs)
      if (isFullFigure) expect(lastMs).toBeLessThan(withinMs)
    }
  } finally {
    for (const { crowd } of crowds) await crowd.close()
    await server.close()
  }
}, 600_000)

interface Open {
  readonly transport: Transport
  readonly crowd: Crowd
  /** The index of its first listener among all agents. */
  readonly first: number
  residentKb: number
}

/** Times from the first message sent, and the processor time of the node. */
interface Woken {
  /** The last message was delivered. */
  readonly lastMs: number
  /** The last message was stored. */
  readonly lastStoredMs: number
  readonly cpuMs: number
}

/** Sends a message to each of them. */
async function wake(
  server: ServerProcess,
  population: Population,
  people: readonly TestAgent[],
  open: Open,
): Promise<Woken> {
  const letters = Array.from({ length: listeners }, (_, index) => {
    const place = open.first + index
    return letter(
      people[place % senders] as TestAgent,
      population.conversations[place] ?? '',
      people[place]?.id ?? '',
    )
  })
  const before = usage(server)
  const sent = await sendAll(server.port, letters, sentWithinMs)
  await vi.waitFor(() => expect(open.crowd.arrivals.size).toBe(listeners), soon)
  const cpuMs = usage(server).cpuMs - before.cpuMs
  const arrived = [...open.crowd.arrivals.values()]
  const lastMs = Math.max(...arrived) - sent.beganAt
  const took = [...open.crowd.arrivals].map(([index, at]) => Math.max(0, at - (sent.sentAt[index] ?? 0)))
  took.sort((a, b) => a - b)
  const at = (share: number) => Math.round(took[Math.floor((took.length - 1) * share)] ?? Number.NaN)
  process.stdout.write(
    `${listeners} over the ${open.transport}: all sent within ${Math.round(sent.lastSentMs)} ms and stored after ` +
      `${Math.round(sent.lastStoredMs)} ms; told after p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms, all after ` +
      `${Math.round(lastMs)} ms; ` +
      `${(open.residentKb / listeners).toFixed(1)} KiB a wait, ${(cpuMs / listeners).toFixed(2)} ms of processor time a message\n`,
  )
  return { lastMs, lastStoredMs: sent.lastStoredMs, cpuMs }
}

/** Returns a message as the bytes of its request. */
function letter(from: TestAgent, conversation: string, to: string): Buffer {
  const target = '/api/v1/messages'
  const body = { conversation_id: conversation, recipient_agent_id: to, type: 'note', body: 'wake up' }
  const bytes = JSON.stringify(body)
  const headers = from
    .sign({ method: 'POST', target, body }, bytes)
    .map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `POST ${target} HTTP/1.1\r\nHost: bridge.example\r\n${headers.join('')}Content-Length: ${bytes.length}\r\n\r\n${bytes}`,
  )
}

interface PeerPage {
  readonly peers: readonly { id: string; connection: { listening_now: boolean } }[]
  readonly has_more: boolean
  readonly next_after: string | null
}

/** A long-poll does not report that it is held, but any agent that may write to its agent can see it. */
async function allListen(people: readonly TestAgent[], first: number): Promise<void> {
  const awaited = new Set(people.slice(first, first + listeners).map(({ id }) => id))
  for (const sender of people.slice(0, senders)) {
    for (let after = ''; ; ) {
      const page = await sender.ok<PeerPage>({ target: `/api/v1/peers?limit=100${after}` })
      if (page.peers.some(({ id, connection }) => awaited.has(id) && !connection.listening_now)) continue
      if (!page.has_more) break
      after = `&after=${page.next_after}`
    }
  }
}

interface Usage {
  readonly residentKb: number
  readonly cpuMs: number
}

function usage({ pid }: ServerProcess): Usage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(stat[11]) + Number(stat[12])
  return { residentKb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]), cpuMs: ticks * 10 }
}
