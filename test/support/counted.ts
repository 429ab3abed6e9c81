/**
 * A server on PostgreSQL whose statements are counted, and groups that hold as many requests as a test wants.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { readConfig } from '../../server/config.ts'
import { startServer } from '../../server/server.ts'
import type { TestAgent } from './agent.ts'
import { dropConnections } from './http.ts'
import { makeInstallation } from './installation.ts'
import { asTestAgent, populate } from './population.ts'
import { dropDatabase, onDatabase, storeSettings } from './postgres.ts'

/**
 * Asks until the answer is at least this number: on a slow machine the node itself writes beside the requests, for
 * example a contact that waits for its commit. The node waits up to 5 seconds for a lane.
 */
async function until(wanted: number, ask: () => Promise<number | null>): Promise<void> {
  const endsMs = performance.now() + 4000
  for (let found = await ask(); (found ?? 0) < wanted; found = await ask()) {
    if (performance.now() > endsMs) throw new Error(`waited for ${wanted}, and found ${found}`)
    await pause(10)
  }
}

/**
 * Counts the statements that a client executes on the connections on which it begins transactions: each is
 * one message `Execute` or `Query` of the protocol. The other connections carry what a node asks from time to
 * time.
 */
export async function startCounter(database: string) {
  const target = new URL(database)
  const connections: { executed: number; begins: boolean }[] = []
  const byText = new Map<string, number>()
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    const counts = { executed: 0, begins: false }
    connections.push(counts)
    let unread = Buffer.alloc(0)
    let isStarted = false
    const prepared = new Map<string, string>()
    near.on('data', (bytes: Buffer) => {
      far.write(bytes)
      unread = Buffer.concat([unread, bytes])
      // The first message has no type.
      for (;;) {
        const head = isStarted ? 1 : 0
        if (unread.length < head + 4) return
        const length = head + unread.readUInt32BE(head)
        if (unread.length < length) return
        const type = isStarted ? String.fromCharCode(unread[0] ?? 0) : ''
        if (type === 'E' || type === 'Q') counts.executed += 1
        const text = textOf(type, unread.subarray(head + 4, length), prepared)
        if (text !== undefined) byText.set(text, (byText.get(text) ?? 0) + 1)
        if (type === 'Q') counts.begins ||= unread.toString('latin1', 5, 10) === 'BEGIN'
        isStarted = true
        unread = unread.subarray(length)
      }
    })
    far.pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = new URL(database)
  url.port = String(typeof address === 'object' && address !== null ? address.port : 0)
  const sumOf = (some: typeof connections) => some.reduce((sum, counts) => sum + counts.executed, 0)
  return {
    url: url.href,
    executed: () => sumOf(connections.filter(({ begins }) => begins)),
    /** Counts the statements of all connections. */
    executedOnAll: () => sumOf(connections),
    /** Counts them by their text. */
    byText: (): ReadonlyMap<string, number> => new Map(byText),
    close: () => server.close(),
  }
}

/** Returns the text of a statement that the message begins to execute. Keeps what it prepares. */
function textOf(type: string, message: Buffer, prepared: Map<string, string>): string | undefined {
  if (!['Q', 'P', 'B'].includes(type)) return undefined
  const [first = '', second = ''] = message.toString('latin1', 0, 10_000).split('\0', 2)
  if (type === 'Q') return first
  if (type === 'P') prepared.set(first, second)
  return type === 'B' ? prepared.get(second) : undefined
}

export interface Counted {
  readonly data: string
  readonly url: string
  readonly people: readonly TestAgent[]
  /** conversations[i] is between people[i % senders] and people[i]. */
  readonly conversations: readonly string[]
  /** Number of statements so far. */
  executed(): number
  /** Runs requests such that all but the first share a group. Returns their answers. */
  inOneGroup<T>(requests: readonly (() => Promise<T>)[]): Promise<T[]>
  close(): Promise<void>
}

export interface CountedOptions {
  readonly agents: number
  /** Each agent is paired with one of the first ones, as many as this. */
  readonly senders: number
  readonly settings?: Readonly<Record<string, string>>
}

export async function openCounted({ agents: count, senders, settings }: CountedOptions): Promise<Counted> {
  const data = mkdtempSync(join(tmpdir(), 'bridge-'))
  await makeInstallation(readConfig({ data }, {}))
  const counter = await startCounter(storeSettings(data).database ?? '')
  const quiet = { port: '0', reserve_bytes: '0', log_level: 'silent', metrics_port: '0' }
  const limits = { rate_per_second: '100000', rate_burst: '100000' }
  const config = readConfig({ data, ...quiet, ...limits, database: counter.url, ...settings }, {})
  // The first start sets the replay floor. There are no credentials yet, so it refuses no proof.
  await (await startServer(config)).stop()
  const { projectId, agents, conversations } = populate(data, count, senders)
  const server = await startServer(config)
  const queued = async () => {
    // A late answer is asked for again, because the node waits for its lane no longer than 5 seconds.
    const asked = fetch(server.metricsUrl ?? '', { signal: AbortSignal.timeout(500) })
    const text = await asked.then((answer) => answer.text()).catch(() => '')
    return Number(/^bridge_queue_length\{queue="writes"\} (\d+)/m.exec(text)?.[1] ?? 0)
  }
  const waiting =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
  return {
    data,
    url: server.url,
    people: agents.map((agent) => asTestAgent(server, projectId, agent)),
    conversations,
    executed: counter.executed,
    inOneGroup: (requests) =>
      onDatabase(data, async (client) => {
        await client.query('BEGIN')
        await client.query('SELECT 1 FROM lanes WHERE lane = $1 FOR UPDATE', [projectId])
        const [first, ...others] = requests
        const asked = first === undefined ? [] : [first()]
        await until(1, async () => (await client.query(waiting)).rowCount)
        asked.push(...others.map((request) => request()))
        await until(others.length, queued)
        await client.query('COMMIT')
        return Promise.all(asked)
      }),
    async close() {
      await server.stop()
      dropConnections(server.url)
      counter.close()
      await dropDatabase(data)
      rmSync(data, { recursive: true })
    },
  }
}
