/**
 * Requests that share a group on PostgreSQL, side by side and with merged statements, leave what the same
 * requests leave one after another on SQLite. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, test } from 'vitest'
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

interface Task {
  readonly id: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

interface World {
  readonly agents: Readonly<Record<Name, TestAgent>>
  /** Ids of the messages that were sent, by their text. */
  readonly sent: Map<string, string>
  /** Tasks as they were created or last claimed, by their title. */
  readonly tasks: Map<string, Task>
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
    tasks: new Map(),
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

const verbs = ['claim', 'progress', 'renew', 'release', 'complete', 'cancel', 'stopped', 'show'] as const
type Verb = (typeof verbs)[number]

type Act =
  | {
      readonly kind: 'send'
      readonly from: Name
      readonly to: Name
      /** Names the conversation. It is another pair's in a request that is refused. */
      readonly within: string
      readonly text: string
      readonly key: string
      readonly answers?: string | undefined
    }
  | { readonly kind: 'acknowledge'; readonly by: Name; readonly texts: readonly string[] }
  | { readonly kind: 'read'; readonly by: Name }
  | {
      readonly kind: 'create'
      readonly by: Name
      readonly to: Name
      readonly title: string
      readonly key: string
    }
  | {
      readonly kind: 'task'
      readonly verb: Verb
      readonly by: Name
      readonly title: string
      readonly key: string
    }

/** A generator of numbers below 1 that gives the same ones for the same seed. */
function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

interface Chance {
  readonly seed: number
  readonly next: () => number
  readonly pick: <T>(from: readonly T[]) => T
}

/** Sends and tasks of earlier batches, which the acts of a batch may name. */
interface Earlier {
  readonly sends: (Act & { readonly kind: 'send' })[]
  readonly tasks: (Act & { readonly kind: 'create' })[]
}

/** The acts of each batch are sent at the same time. */
function drawBatches(seed: number): Act[][] {
  const next = chanceOf(seed)
  const chance: Chance = { seed, next, pick: (from) => from[Math.floor(next() * from.length)] as never }
  const earlier: Earlier = { sends: [], tasks: [] }
  return Array.from({ length: batches }, (_, batch) => {
    // Two requests for one task are in the same batch only if their order makes no difference.
    const free = new Set(earlier.tasks)
    const acts = Array.from({ length: batchSize }, (__, index) =>
      draw(chance, `${batch}-${index}`, { ...earlier, tasks: [...free] }, (task) => free.delete(task)),
    )
    earlier.sends.push(
      ...(acts.filter(
        (act) => act.kind === 'send' && act.within === pairOf(act.from, act.to),
      ) as Earlier['sends']),
    )
    earlier.tasks.push(...acts.filter((act) => act.kind === 'create'))
    // Some clients lose the answer and repeat a request while the first one runs. Others claim what is being
    // claimed.
    const repeated = acts.filter((act) => 'key' in act && next() < 0.15)
    const contested = acts.filter((act) => act.kind === 'task' && act.verb === 'claim' && next() < 0.3)
    return [...acts, ...repeated, ...contested.map((act) => ({ ...act, key: `other ${batch}-${next()}` }))]
  })
}

function draw(
  { seed, next, pick }: Chance,
  text: string,
  { sends, tasks }: Earlier,
  take: (task: Earlier['tasks'][number]) => void,
): Act {
  const by = pick(names)
  const roll = next()
  const received = sends.filter(({ to }) => to === by)
  const key = `key-${text}-of-${seed}`
  if (roll < 0.1) return { kind: 'read', by }
  if (roll < 0.2 && received.length > 0)
    return { kind: 'acknowledge', by, texts: [...new Set([pick(received).text, pick(received).text])] }
  if (roll < 0.5 && tasks.length > 0) {
    const task = pick(tasks)
    take(task)
    const verb = pick(verbs)
    const side = verb === 'cancel' ? task.by : task.to
    // Somebody else is refused.
    return { kind: 'task', verb, by: next() < 0.9 ? side : by, title: task.title, key }
  }
  // Half of all work is for one agent.
  const others = names.filter((name) => name !== by)
  const to = by !== names[0] && next() < 0.5 ? names[0] : pick(others)
  if (roll < 0.65) return { kind: 'create', by, to, title: text, key }
  const answered = roll < 0.75 && received.length > 0 ? pick(received) : undefined
  const recipient = answered?.from ?? to
  const within = pairOf(by, roll > 0.97 ? pick(others) : recipient)
  const known = sends.filter(({ from }) => from === by)
  // A key that was used for another message is refused.
  const used = roll > 0.94 && known.length > 0 ? pick(known).key : key
  return { kind: 'send', from: by, to: recipient, within, text, key: used, answers: answered?.text }
}

/** Runs an act. Returns its name and the status of its answer. */
async function run(world: World, conversations: ReadonlyMap<string, string>, act: Act): Promise<string> {
  if (act.kind === 'send') return `send ${act.text}: ${await send(world, conversations, act)}`
  if (act.kind === 'create' || act.kind === 'task')
    return `${act.kind} ${act.title}: ${await workOn(world, act)}`
  if (act.kind === 'read')
    return `read: ${(await world.agents[act.by].call({ target: '/api/v1/inbox' })).status}`
  const body = { message_ids: act.texts.map((text) => world.sent.get(text)) }
  const reply = await world.agents[act.by].call({ target: '/api/v1/acknowledgements', body, key: null })
  return `acknowledge ${act.texts}: ${reply.status}`
}

async function send(
  world: World,
  conversations: ReadonlyMap<string, string>,
  act: Act & { readonly kind: 'send' },
): Promise<number> {
  const body = {
    conversation_id: conversations.get(act.within),
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

async function workOn(world: World, act: Act & { readonly kind: 'create' | 'task' }): Promise<number> {
  const agent = world.agents[act.by]
  if (act.kind === 'create') {
    const body = { assignee_agent_id: world.agents[act.to].id, title: act.title, instructions: 'count' }
    const { status, json } = await agent.call({ target: '/api/v1/tasks', body, key: act.key })
    if (status === 200) world.tasks.set(act.title, json as Task)
    return status
  }
  const task = world.tasks.get(act.title)
  const target = `/api/v1/tasks/${task?.id}`
  if (act.verb === 'show') return (await agent.call({ target })).status
  const holder = {
    claim_generation: task?.claim?.generation ?? 1,
    session_generation: task?.claim?.session_generation ?? 1,
  }
  const body = {
    ...(['claim', 'cancel'].includes(act.verb) ? {} : holder),
    ...(act.verb === 'release' && { reason: 'busy' }),
    ...(act.verb === 'progress' && { percent: 50 }),
    ...(act.verb === 'complete' && { result: 'done', evidence: [{ kind: 'text', value: 'seen' }] }),
  }
  const { status, json } = await agent.call({ target: `${target}/${act.verb}`, body, key: act.key })
  if (status === 200 && act.verb === 'claim') world.tasks.set(act.title, json as Task)
  return status
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
      .map((row) => JSON.stringify(row).replace(/show [\w-]+/, 'show'))
      .sort(),
    inboxes: await world.rows(
      'SELECT a.name, CAST(i.waiting AS text) AS waiting FROM inboxes i JOIN agents a ON a.id = i.agent_id ORDER BY a.name',
    ),
    numbers: (await world.rows<object>('SELECT CAST(last_sequence AS text) AS last FROM conversations'))
      .map((row) => JSON.stringify(row))
      .sort(),
    audit: await world.rows(
      "SELECT kind, actor_name, CAST(count(*) AS text) AS count FROM audit WHERE kind LIKE 'message%' OR kind LIKE 'task%' GROUP BY kind, actor_name ORDER BY kind, actor_name",
    ),
    tasks: await world.rows(
      `SELECT title, creator_name, state, CAST(attempts AS text) AS attempts, claim_end,
        CAST(claim_generation AS text) AS claim_generation, CAST(progress_percent AS text) AS percent,
        outcome_kind, outcome_result, cancelled_by_name, ended FROM tasks ORDER BY title`,
    ),
    releases: await world.rows(
      'SELECT reason, CAST(count(*) AS text) AS count FROM task_releases GROUP BY reason',
    ),
    answers: await world.rows(
      `SELECT route, CAST(count(*) AS text) AS count FROM idempotency
        WHERE route LIKE '/api/v1/messages%' OR route LIKE '/api/v1/tasks%' GROUP BY route ORDER BY route`,
    ),
  }
}

describe.skipIf(!isOnPostgres)('requests that share a group', () => {
  const worlds: World[] = []
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close()
  })

  test.for(seeds)('seed %i', async (seed) => {
    const [reference, merged, unmerged] = await Promise.all([
      onSqlite(),
      onPostgres({}),
      onPostgres({ merge_statements: 'off' }),
    ])
    worlds.push(reference, merged, unmerged)
    const drawn = drawBatches(seed)
    const expected: string[][] = []
    const inOrder = await openConversations(reference)
    for (const acts of drawn) {
      const statuses: string[] = []
      for (const act of acts) statuses.push(await run(reference, inOrder, act))
      expected.push(statuses.sort())
    }
    const wanted = await remains(reference)
    for (const world of [merged, unmerged]) {
      const conversations = await openConversations(world)
      const found: string[][] = []
      for (const acts of drawn)
        found.push((await Promise.all(acts.map((act) => run(world, conversations, act)))).sort())
      expect(found).toEqual(expected)
      expect(await remains(world)).toEqual(wanted)
    }
    const succeeded = expected.flat().filter((each) => each.endsWith(': 200'))
    expect(succeeded.length).toBeGreaterThan((batches * batchSize) / 2)
    expect(succeeded.length).toBeLessThan(expected.flat().length)
  })
})
