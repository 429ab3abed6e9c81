/**
 * Requests that share a group on PostgreSQL, side by side and with merged statements, leave what the same requests
 * leave one after another on SQLite. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, test } from 'vitest'
import { type Config, readConfig } from '../../../server/config.ts'
import { initServer } from '../../../server/host/init.ts'
import { startServer } from '../../../server/server.ts'
import { databasePath } from '../../../server/storage/data-folder.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { testClock } from '../../support/clock.ts'
import { dropConnections } from '../../support/http.ts'
import { makeInstallation } from '../../support/installation.ts'
import { setUpOwner } from '../../support/owner.ts'
import { dropDatabase, isOnPostgres, onDatabase, storeSettings } from '../../support/postgres.ts'

const names = ['ada', 'ben', 'cleo', 'dan', 'eve', 'fay'] as const
type Name = (typeof names)[number]
const seeds = Array.from({ length: Number(process.env.BRIDGE_MERGE_SEEDS ?? 2) }, (_, index) => index + 1)
const batches = 6
const batchSize = 24

interface World {
  readonly agents: Readonly<Record<Name, TestAgent>>
  /** Ids of the messages that were sent, by their text. */
  readonly sent: Map<string, string>
  rows<R>(sql: string): Promise<R[]>
  close(): Promise<void>
}

async function openWorld(
  settings: Readonly<Record<string, string>>,
  query: (data: string, sql: string) => Promise<unknown[]>,
): Promise<World> {
  const data = mkdtempSync(join(tmpdir(), 'bridge-'))
  const clock = testClock()
  const given = settings.database === undefined ? {} : storeSettings(data)
  const limits = {
    rate_per_second: '100000',
    rate_burst: '100000',
    public_per_second: '100000',
    public_burst: '100000',
  }
  const config = readConfig(
    { data, port: '0', log_level: 'silent', reserve_bytes: '0', ...limits, ...settings, ...given },
    {},
  )
  const { setupLink } = settings.database === undefined ? await initServer(config) : await installed(config)
  const server = await startServer(config, { clock, elapsedMs: clock.elapsedMs, passwordCost: 4 })
  const owner = await setUpOwner(server.url, setupLink ?? server.setupLink ?? '')
  const project = await owner.createProject('demo')
  const agents: Partial<Record<Name, TestAgent>> = {}
  for (const name of names) {
    const { id } = await owner.createAgent(project.id, name)
    const agent = await enroll(server.url, await owner.enrollmentCode(project.id, id), clock)
    await agent.startSession()
    agents[name] = agent
  }
  return {
    agents: agents as Record<Name, TestAgent>,
    sent: new Map(),
    rows: <R>(sql: string) => query(data, sql) as Promise<R[]>,
    async close() {
      await server.stop()
      dropConnections(server.url)
      if (settings.database !== undefined) await dropDatabase(data)
      rmSync(data, { recursive: true })
    },
  }
}

/** An installation on the database of the folder, which prints its link at its first start. */
async function installed(config: Config): Promise<{ readonly setupLink: undefined }> {
  await makeInstallation(config)
  return { setupLink: undefined }
}

const onSqlite = () =>
  openWorld({}, async (data, sql) => {
    const database = new Database(databasePath(data), { readonly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  })

const onPostgres = (settings: Readonly<Record<string, string>>) =>
  openWorld({ database: 'its own', ...settings }, (data, sql) =>
    onDatabase(data, async (client) => (await client.query(sql)).rows),
  )

type Act =
  | {
      readonly kind: 'send'
      readonly from: Name
      readonly to: Name
      readonly text: string
      readonly key: string
      readonly answers?: string | undefined
    }
  | { readonly kind: 'acknowledge'; readonly by: Name; readonly texts: readonly string[] }
  | { readonly kind: 'read'; readonly by: Name }

/** A generator of numbers below 1 that gives the same ones for the same seed. */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

/** The acts of each batch are sent at the same time. What they name was sent in an earlier batch. */
function drawBatches(seed: number): Act[][] {
  const next = chanceOf(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T
  const earlier: { readonly from: Name; readonly to: Name; readonly text: string }[] = []
  return Array.from({ length: batches }, (_, batch) => {
    const acts = Array.from({ length: batchSize }, (__, index): Act => {
      const by = pick(names)
      const received = earlier.filter(({ to }) => to === by)
      const roll = next()
      if (roll < 0.15) return { kind: 'read', by }
      if (roll < 0.3 && received.length > 0)
        return { kind: 'acknowledge', by, texts: [...new Set([pick(received).text, pick(received).text])] }
      const text = `${batch}-${index}`
      const answered = roll < 0.5 && received.length > 0 ? pick(received) : undefined
      const to = answered?.from ?? pick(names.filter((name) => name !== by))
      return { kind: 'send', from: by, to, text, key: `key-${text}-of-${seed}`, answers: answered?.text }
    })
    const sends = acts.filter((act) => act.kind === 'send')
    earlier.push(...sends)
    // Some clients lose the answer and repeat a request while the first one runs.
    return [...acts, ...sends.filter(() => next() < 0.15)]
  })
}

async function run(world: World, conversations: ReadonlyMap<string, string>, act: Act): Promise<number> {
  if (act.kind === 'read') return (await world.agents[act.by].call({ target: '/api/v1/inbox' })).status
  if (act.kind === 'acknowledge') {
    const body = { message_ids: act.texts.map((text) => world.sent.get(text)) }
    return (await world.agents[act.by].call({ target: '/api/v1/acknowledgements', body, key: null })).status
  }
  const body = {
    conversation_id: conversations.get(pairOf(act.from, act.to)),
    recipient_agent_id: world.agents[act.to].id,
    type: 'note',
    body: act.text,
    ...(act.answers !== undefined && { in_reply_to: world.sent.get(act.answers) }),
  }
  const reply = await world.agents[act.from].call({ target: '/api/v1/messages', body, key: act.key })
  const { message } = reply.json as { message?: { id: string } }
  if (message !== undefined) {
    // A repeated request gets the same message.
    expect(world.sent.get(act.text) ?? message.id).toBe(message.id)
    world.sent.set(act.text, message.id)
  }
  return reply.status
}

const pairOf = (one: Name, other: Name): string => [one, other].sort().join(' ')

async function openConversations({ agents }: World): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const one of names)
    for (const other of names)
      if (one < other) found.set(pairOf(one, other), await agents[one].conversationWith(agents[other].id))
  return found
}

/** What the requests left, without ids, times and the order within a batch. */
async function remains(world: World): Promise<unknown> {
  const parent = '(SELECT p.body FROM messages p WHERE p.id = m.in_reply_to)'
  const flags =
    'CASE WHEN m.acknowledged_at IS NULL THEN 0 ELSE 1 END AS acknowledged, CAST(m.hops AS text) AS hops'
  const messages = await world.rows<{ sequence: number; conversation_id: string }>(
    `SELECT m.id, m.conversation_id, m.sequence, m.sender_name, m.body, ${parent} AS parent, ${flags} FROM messages m ORDER BY m.id`,
  )
  const sequences = Map.groupBy(messages, (each) => each.conversation_id)
  // The order of ids is the order of sequences, and none is missing.
  for (const rows of sequences.values())
    expect(rows.map(({ sequence }) => Number(sequence))).toEqual(rows.map((_, index) => index + 1))
  return {
    messages: messages
      .map(({ id, conversation_id, sequence, ...rest }: Record<string, unknown>) => rest)
      .map((row) => JSON.stringify(row))
      .sort(),
    inboxes: await world.rows(
      'SELECT a.name, CAST(i.waiting AS text) AS waiting FROM inboxes i JOIN agents a ON a.id = i.agent_id ORDER BY a.name',
    ),
    numbers: (await world.rows<object>('SELECT CAST(last_sequence AS text) AS last FROM conversations'))
      .map((row) => JSON.stringify(row))
      .sort(),
    audit: await world.rows(
      "SELECT kind, actor_name, CAST(count(*) AS text) AS count FROM audit WHERE kind LIKE 'message%' GROUP BY kind, actor_name ORDER BY kind, actor_name",
    ),
    answers: await world.rows(
      "SELECT CAST(count(*) AS text) AS count FROM idempotency WHERE route = '/api/v1/messages'",
    ),
  }
}

describe.skipIf(!isOnPostgres)('requests that share a group', () => {
  const worlds: World[] = []
  afterAll(async () => {
    for (const world of worlds) await world.close()
  })

  test.for(seeds)('seed %i', async (seed) => {
    const [reference, merged, unmerged] = await Promise.all([
      onSqlite(),
      onPostgres({}),
      onPostgres({ merge_statements: 'off' }),
    ])
    worlds.push(reference, merged, unmerged)
    const drawn = drawBatches(seed)
    const expected: number[][] = []
    const inOrder = await openConversations(reference)
    for (const acts of drawn) {
      const statuses: number[] = []
      for (const act of acts) statuses.push(await run(reference, inOrder, act))
      expected.push(statuses)
    }
    const wanted = await remains(reference)
    for (const world of [merged, unmerged]) {
      const conversations = await openConversations(world)
      const found: number[][] = []
      for (const acts of drawn)
        found.push(await Promise.all(acts.map((act) => run(world, conversations, act))))
      expect(found).toEqual(expected)
      expect(await remains(world)).toEqual(wanted)
    }
    expect(expected.flat().every((status) => status === 200)).toBe(true)
  })
})
