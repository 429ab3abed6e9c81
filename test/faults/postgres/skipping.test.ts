/**
 * A reader that follows `after` on PostgreSQL while eight writers write sees every row: messages, tasks and
 * audit records of one project. The controls are the same reader over parallel transactions, which must skip
 * rows.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { postgresOnly } from '../../support/one-store.ts'
import { type People, settlePeople } from '../../support/people.ts'
import { Cluster, hasPostgres } from '../../support/postgres-cluster.ts'
import { type ServerProcess, startServerProcess } from '../../support/process.ts'

postgresOnly()

const writerCount = 8
const eachWrites = 12

describe.skipIf(!hasPostgres)('a reader that follows `after`', () => {
  let cluster: Cluster
  let server: ServerProcess
  let people: People
  const writers: TestAgent[] = []

  beforeAll(async () => {
    cluster = await Cluster.start()
    await cluster.query('CREATE DATABASE node')
    server = await startServerProcess({ settings: { database: cluster.url.replace(/postgres$/, 'node') } })
    people = await settlePeople(server, { message_budget: 1_000_000 })
    const { owner, project } = people
    for (let index = 0; index < writerCount; index += 1) {
      const { id } = await owner.createAgent(project.id, `writer-${index}`)
      const code = await owner.enrollmentCode(project.id, id)
      const writer = await enroll(server.url, code, () => new Date())
      await writer.startSession()
      writers.push(writer)
    }
  })
  afterAll(async () => {
    await server?.close()
    await cluster?.close()
  })

  test('skips no message, no task and no audit record of eight writers', async () => {
    const { ben, owner, project } = people
    const isOver = { yes: false }
    const agentReads = <T>(target: string) => ben.ok<T>({ target })
    const ownerReads = <T>(target: string) => owner.ok<T>({ target })
    const readers = [
      follow('messages', '/api/v1/inbox/messages?limit=100', agentReads, isOver),
      follow('tasks', '/api/v1/tasks?role=assignee&limit=100', agentReads, isOver),
      follow('audit', `/api/admin/projects/${project.id}/audit?limit=100`, ownerReads, isOver),
    ]
    await Promise.all(writers.map((writer) => write(writer, ben.id)))
    isOver.yes = true
    const seen = await Promise.all(readers)
    const inside = cluster.url.replace(/postgres$/, 'node')
    const stored = await Promise.all([
      cluster.query<{ id: string }>(
        `SELECT id FROM messages WHERE inbox_agent_id = '${ben.id}' ORDER BY id`,
        [],
        inside,
      ),
      cluster.query<{ id: string }>('SELECT id FROM tasks ORDER BY id', [], inside),
      cluster.query<{ id: string }>(
        `SELECT id FROM audit WHERE project_id = '${project.id}' ORDER BY id`,
        [],
        inside,
      ),
    ])
    // The audit has the records of the last reads beside those of the writers.
    expect(seen).toEqual(stored.map((rows) => rows.map(({ id }) => id)))
    expect(seen[1]?.length).toBe(writerCount * eachWrites)
  })

  test.each([
    ['ids that are taken at BEGIN', 'true'],
    ['the filter for ended transactions', 'xid < pg_snapshot_xmin(pg_current_snapshot())'],
  ])('would skip rows of parallel transactions with %s', async (_name, filter) => {
    await cluster.query('DROP TABLE IF EXISTS followed')
    await cluster.query('CREATE TABLE followed (id int, xid xid8 DEFAULT pg_current_xact_id())')
    let last = 0
    let writing = writerCount
    const write = async () => {
      const client = await connected(cluster.url)
      for (let nth = 0; nth < 25; nth += 1) {
        await client.query('BEGIN')
        const id = ++last
        await delay(Math.random() * 4)
        await client.query('INSERT INTO followed VALUES ($1)', [id])
        await client.query('COMMIT')
      }
      await client.end()
      writing -= 1
    }
    const read = async () => {
      const client = await connected(cluster.url)
      const seen: number[] = []
      for (let isLast = false; ; isLast = writing === 0) {
        const text = `SELECT id FROM followed WHERE id > $1 AND ${filter} ORDER BY id`
        const { rows } = await client.query<{ id: number }>(text, [seen.at(-1) ?? 0])
        seen.push(...rows.map(({ id }) => id))
        if (isLast) break
      }
      await client.end()
      return seen
    }
    const [seen] = await Promise.all([read(), ...Array.from({ length: writerCount }, write)])
    expect(last).toBe(writerCount * 25)
    expect(last - seen.length).toBeGreaterThan(0)
  })
})

/** Sends messages and creates tasks, in turns. */
async function write(writer: TestAgent, to: string): Promise<void> {
  const conversation = await writer.conversationWith(to)
  for (let nth = 0; nth < eachWrites; nth += 1) {
    await writer.send(conversation, to, `message ${nth}`)
    const body = { assignee_agent_id: to, title: `task ${nth}`, instructions: 'count' }
    await writer.ok({ target: '/api/v1/tasks', body })
  }
}

type Page = { readonly next_after: string | null } & Readonly<
  Record<string, readonly { readonly id: string }[]>
>

/** Reads pages after the last row that was seen, until the writers are done and a page is empty. */
async function follow(
  list: string,
  target: string,
  read: <T>(target: string) => Promise<T>,
  isOver: { readonly yes: boolean },
): Promise<string[]> {
  const seen: string[] = []
  for (;;) {
    const isLast = isOver.yes
    const last = seen.at(-1)
    const page = await read<Page>(last === undefined ? target : `${target}&after=${last}`)
    const rows = page[list] ?? []
    seen.push(...rows.map(({ id }) => id))
    if (isLast && rows.length === 0) return seen
  }
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
