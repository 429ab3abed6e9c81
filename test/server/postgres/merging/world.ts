/** Six agents at a server on one of the two stores, and the requests that they send. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { type Config, readConfig } from '../../../../server/config.ts'
import { initServer } from '../../../../server/host/init.ts'
import { startServer } from '../../../../server/server.ts'
import { databasePath } from '../../../../server/storage/data-folder.ts'
import { enroll, type TestAgent } from '../../../support/agent.ts'
import { testClock } from '../../../support/clock.ts'
import { describeBytes, fileOf } from '../../../support/files.ts'
import { dropConnections, type Reply } from '../../../support/http.ts'
import { makeInstallation } from '../../../support/installation.ts'
import { setUpOwner } from '../../../support/owner.ts'
import { dropDatabase, onDatabase, storeSettings } from '../../../support/postgres.ts'
import { type Act, type Name, names, pairOf } from './acts.ts'
import { type Labels, plain } from './plain.ts'

interface Task {
  readonly id: string
  readonly claim: { readonly generation: number; readonly session_generation: number } | null
}

export interface World {
  readonly agents: Readonly<Record<Name, TestAgent>>
  /** Ids of the messages that were sent, by their text. */
  readonly sent: Map<string, string>
  /** What ids stand for, the same in each world. */
  readonly labels: Labels
  /** Transfers by the name of their file. */
  readonly offered: Map<string, string>
  /** Conversations by their pair. */
  readonly conversations: ReadonlyMap<string, string>
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
  const all = agents as Record<Name, TestAgent>
  const conversations = await openConversations(all)
  const labels = new Map([[project.id, 'project']])
  for (const [name, { id, enrolled, session }] of Object.entries(all)) {
    labels.set(id, name).set(enrolled.credential_id, `credential of ${name}`)
    labels.set(session?.id ?? '', `session of ${name}`)
  }
  for (const [pair, id] of conversations) labels.set(id, `conversation of ${pair}`)
  return {
    ...{ agents: all, labels, conversations },
    sent: new Map(),
    offered: new Map(),
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

export const onSqlite = () =>
  openWorld({}, async (data, sql) => {
    const database = new Database(databasePath(data), { readonly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  })

export const onPostgres = (settings: Readonly<Record<string, string>>) =>
  openWorld({ database: 'its own', ...settings }, (data, sql) =>
    onDatabase(data, async (client) => (await client.query(sql)).rows),
  )

/** Runs an act. Returns its name and its answer, in the form of {@link plain}. */
export async function run(world: World, act: Act): Promise<string> {
  const { status, json } = await reply(world, act)
  // An inbox is read while others write to it.
  const body = act.kind === 'read' ? '' : JSON.stringify(plain(json, world.labels))
  return `${nameOf(act)}: ${status} ${body}`
}

function nameOf(act: Act): string {
  if (act.kind === 'send') return `send ${act.text}`
  if (act.kind === 'acknowledge') return `acknowledge ${act.texts}`
  if (act.kind === 'create') return `create ${act.title}`
  if (act.kind === 'task') return `${act.verb} ${act.title}`
  if (act.kind === 'offer') return `offer ${act.filename}`
  return act.kind === 'transfer' ? `${act.verb} ${act.filename}` : act.kind
}

function reply(world: World, act: Act): Promise<Reply> {
  if (act.kind === 'send') return send(world, act)
  if (act.kind === 'create' || act.kind === 'task') return workOn(world, act)
  if (act.kind === 'offer' || act.kind === 'transfer') return transfer(world, act)
  const by = world.agents[act.by]
  if (act.kind === 'read') return by.call({ target: '/api/v1/inbox' })
  const body = { message_ids: act.texts.map((text) => world.sent.get(text)) }
  return by.call({ target: '/api/v1/acknowledgements', body, key: null })
}

async function send(world: World, act: Act & { readonly kind: 'send' }): Promise<Reply> {
  const body = {
    conversation_id: world.conversations.get(act.within),
    recipient_agent_id: world.agents[act.to].id,
    type: 'note',
    body: act.text,
    ...(act.answers !== undefined && { in_reply_to: world.sent.get(act.answers) }),
  }
  const found = await world.agents[act.from].call({ target: '/api/v1/messages', body, key: act.key })
  const { message } = found.json as { message?: { id: string } }
  if (message !== undefined) note(world, world.sent, act.text, message.id)
  return found
}

/** Enough to read an inbox to its end, however much of it was offered before. */
const reads = 5

/** Each agent reads its inbox to its end, so that each message has been offered. */
export async function offerAll({ agents }: World): Promise<void> {
  for (const agent of Object.values(agents)) {
    const left: number[] = []
    // The same number of requests in each world, because each one leaves a nonce.
    while (left.length < reads)
      left.push((await agent.ok<{ messages: unknown[] }>({ target: '/api/v1/inbox' })).messages.length)
    expect(left.at(-1)).toBe(0)
  }
}

/** A repeated request gets the same row. */
function note({ labels }: World, known: Map<string, string>, name: string, id: string): void {
  expect(known.get(name) ?? id).toBe(id)
  known.set(name, id)
  labels.set(id, name)
}

async function workOn(world: World, act: Act & { readonly kind: 'create' | 'task' }): Promise<Reply> {
  const agent = world.agents[act.by]
  if (act.kind === 'create') {
    const body = { assignee_agent_id: world.agents[act.to].id, title: act.title, instructions: 'count' }
    const created = await agent.call({ target: '/api/v1/tasks', body, key: act.key })
    if (created.status === 200) noteTask(world, act.title, created)
    return created
  }
  const task = world.tasks.get(act.title)
  const target = `/api/v1/tasks/${task?.id}`
  if (act.verb === 'show') return agent.call({ target })
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
  const found = await agent.call({ target: `${target}/${act.verb}`, body, key: act.key })
  if (found.status === 200 && act.verb === 'claim') noteTask(world, act.title, found)
  return found
}

function noteTask({ labels, tasks }: World, title: string, { json }: Reply): void {
  const task = json as Task
  tasks.set(title, task)
  labels.set(task.id, `task ${title}`)
}

async function transfer(world: World, act: Act & { readonly kind: 'offer' | 'transfer' }): Promise<Reply> {
  const agent = world.agents[act.by]
  if (act.kind === 'transfer') {
    const target = `/api/v1/transfers/${world.offered.get(act.filename)}`
    if (act.verb === 'get') return agent.call({ target })
    const body = act.verb === 'fail' ? { reason: 'no_space' } : {}
    return agent.call({ target: `${target}/${act.verb}`, body, key: null })
  }
  const body = {
    conversation_id: world.conversations.get(pairOf(act.by, act.to)),
    recipient_agent_id: world.agents[act.to].id,
    filename: act.filename,
    ...{ mode: 'package', encryption: 'none', ...describeBytes(fileOf(100)) },
  }
  const found = await agent.call({ target: '/api/v1/transfers', body, key: act.key })
  if (found.status === 200) note(world, world.offered, act.filename, (found.json as { id: string }).id)
  return found
}

async function openConversations(agents: World['agents']): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const one of names)
    for (const other of names)
      if (one < other) found.set(pairOf(one, other), await agents[one].conversationWith(agents[other].id))
  return found
}
