/**
 * Scale of waiting: so many listeners of each transport on one process, and a message to each.
 *
 * `BRIDGE_LISTENERS=5000` is the full figure; the default keeps the run of all tests short. What it cost is printed.
 *
 * Promise F21; contract §6.
 */
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, request } from 'node:http'
import { expect, test } from 'vitest'
import type { TestAgent } from '../../support/agent.ts'
import { exchange } from '../../support/http.ts'
import { asTestAgent, populate } from '../../support/population.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'
import { type OpenStream, openEvents, type Transport, transports } from '../../support/streams.ts'

const listeners = Number(process.env.BRIDGE_LISTENERS ?? 500)
const senders = 50
const withinMs = 3000

test(`${listeners} listeners of each transport each receive a message within three seconds`, async () => {
  const server = await startServerProcess({ settings: { max_waits: '100000', rate_burst: '1000000' } })
  await server.kill('SIGTERM')
  const population = populate(server.data, senders + 3 * listeners, senders)
  await server.start()
  const { json } = await exchange(server.url, { method: 'GET', target: '/api/health' })
  const where = { url: server.url, serverId: (json as { server_id: string }).server_id }
  const people = population.agents.map((each) => asTestAgent(where, population.projectId, each))
  const sockets = new HttpAgent({ keepAlive: true, maxSockets: 64 })
  const slowest: number[] = []
  for (const [index, [name, open]] of transports.entries()) {
    const first = senders + index * listeners
    const before = usage(server)
    const waits = await openAll(name, open, people.slice(first, first + listeners))
    await Promise.all(people.slice(0, senders).map((sender) => allListen(sender, waits)))
    const waiting = usage(server)
    const began = performance.now()
    await inParallel(128, waits, async (wait, n) => {
      const place = first + n
      const conversation = population.conversations[place] ?? ''
      await send(sockets, people[place % senders] as TestAgent, conversation, wait.agent)
      wait.storedMs = performance.now()
    })
    const sendingMs = performance.now() - began
    await arrivals(waits, began + sendingMs + withinMs)
    report({ name, waits, began, sendingMs, before, waiting, after: usage(server) })
    slowest.push(Math.max(...waits.map(tookMs)))
    for (const { stream } of waits) stream.close()
  }
  sockets.destroy()
  await server.close()
  for (const ms of slowest) expect(ms).toBeLessThan(withinMs)
}, 600_000)

interface Wait {
  readonly name: Transport
  readonly agent: TestAgent
  stream: OpenStream
  /** When the sender had the answer to its message. */
  storedMs?: number
}

/** From the answer to the sender to the listener; infinite when it never came. */
const tookMs = (wait: Wait) =>
  Math.max(0, (arrivedMs(wait) ?? Number.POSITIVE_INFINITY) - (wait.storedMs ?? 0))

const arrivedMs = ({ stream }: Wait) => stream.events.find(({ type }) => type === 'messages')?.atMs

async function openAll(
  name: Transport,
  open: (agent: TestAgent) => OpenStream,
  agents: readonly TestAgent[],
): Promise<Wait[]> {
  const waits: Wait[] = []
  await inParallel(100, agents, async (agent) => {
    const wait: Wait = { name, agent, stream: open(agent) }
    waits.push(wait)
    await wait.stream.opened
    if (name === 'event stream') void comeBack(wait)
  })
  return waits.sort((a, b) => agents.indexOf(a.agent) - agents.indexOf(b.agent))
}

/** An event stream lasts twenty seconds; its client comes back as it was told, until it has heard what it waits for. */
async function comeBack(wait: Wait): Promise<void> {
  while (arrivedMs(wait) === undefined && (await wait.stream.ended) === 200) {
    if (arrivedMs(wait) !== undefined) return
    await new Promise((resolve) => setTimeout(resolve, 250))
    wait.stream = openEvents(wait.agent)
  }
}

interface PeerPage {
  readonly peers: readonly { id: string; connection: { listening_now: boolean } }[]
  readonly has_more: boolean
  readonly next_after: string | null
}

/** A long-poll does not say that it is held; whoever may write to its agent can see it. */
async function allListen(sender: TestAgent, waits: readonly Wait[]): Promise<void> {
  const awaited = new Set(waits.map(({ agent }) => agent.id))
  for (let after = ''; ; ) {
    const page = await sender.ok<PeerPage>({ target: `/api/v1/peers?limit=100${after}` })
    if (page.peers.some(({ id, connection }) => awaited.has(id) && !connection.listening_now)) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    if (!page.has_more) return
    after = `&after=${page.next_after}`
  }
}

/** A send over a kept connection: opening one for each would be most of what is measured. */
function send(agent: HttpAgent, from: TestAgent, conversation: string, to: TestAgent): Promise<void> {
  const target = '/api/v1/messages'
  const body = { conversation_id: conversation, recipient_agent_id: to.id, type: 'note', body: 'wake up' }
  const bytes = JSON.stringify(body)
  const { hostname, port } = new URL(from.baseUrl)
  const headers = {
    ...Object.fromEntries(from.sign({ method: 'POST', target, body }, bytes)),
    'content-length': Buffer.byteLength(bytes),
  }
  return new Promise((resolve, reject) => {
    const call = request(
      { host: hostname, port, path: target, method: 'POST', headers, agent },
      (response) => {
        response.resume()
        response.once('end', () =>
          response.statusCode === 200
            ? resolve()
            : reject(new Error(`a send answered ${response.statusCode}`)),
        )
      },
    )
    call.once('error', reject)
    call.end(bytes)
  })
}

async function inParallel<T>(
  width: number,
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

/** How many had not arrived by then. */
async function arrivals(waits: readonly Wait[], deadlineMs: number): Promise<number> {
  for (;;) {
    const missing = waits.filter((wait) => arrivedMs(wait) === undefined).length
    if (missing === 0 || performance.now() > deadlineMs) return missing
    await new Promise((resolve) => setTimeout(resolve, 20))
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

interface Figures {
  readonly name: Transport
  readonly waits: readonly Wait[]
  readonly began: number
  readonly sendingMs: number
  readonly before: Usage
  readonly waiting: Usage
  readonly after: Usage
}

function report({ name, waits, began, sendingMs, before, waiting, after }: Figures): void {
  const took = waits.map(tookMs).sort((a, b) => a - b)
  const at = (share: number) => Math.round(took[Math.floor((took.length - 1) * share)] ?? Number.NaN)
  const last = Math.max(...waits.map((wait) => arrivedMs(wait) ?? Number.POSITIVE_INFINITY)) - began
  const each = ((waiting.residentKb - before.residentKb) / waits.length).toFixed(1)
  const cpu = ((after.cpuMs - waiting.cpuMs) / waits.length).toFixed(2)
  const lost = waits.filter((wait) => arrivedMs(wait) === undefined)
  const why = Map.groupBy(lost, ({ stream }) => stream.events.at(-1)?.type ?? 'silent')
  const missing = [...why].map(([what, all]) => `; ${all.length} never came (${what})`).join('')
  process.stdout.write(
    `${waits.length} over the ${name}: wake-up p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)} ms; ` +
      `sent in ${Math.round(sendingMs)} ms, all there after ${Math.round(last)} ms; ` +
      `${each} KiB a wait, ${cpu} ms of processor time a message${missing}\n`,
  )
}
