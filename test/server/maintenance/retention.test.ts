/** The rows that maintenance removes, and those that it keeps. Contract §10 "Retention". */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { firstIdAt } from '../../../server/database/ids.ts'
import { act, offer } from '../../support/files.ts'
import { onSqlite } from '../../support/one-store.ts'
import { onFile } from '../../support/sqlite-file.ts'
import { daysAgo, tamper } from '../../support/tamper.ts'
import { type Pair, startWorld, type World } from '../endpoints/world.ts'
import { upkeep } from './upkeep.ts'

let world: World
let data: string

beforeAll(async () => {
  world = await startWorld()
  data = world.bridge.data
})
afterAll(() => world.close())

interface Page {
  readonly messages: { readonly sequence: number }[]
  readonly has_more: boolean
  readonly next_sequence: number
  readonly retention_gap?: { readonly removed_through_sequence: number }
}

/** Sends this many messages from ada and acknowledges the given ones. */
async function spoken(count: number, acknowledged: readonly number[], pair?: Pair): Promise<Pair> {
  const made = pair ?? (await world.pair())
  const sent = []
  for (let index = 0; index < count; index += 1)
    sent.push(await made.ada.send(made.conversation, made.ben.id, `number ${index + 1}`))
  const ids = sent.filter(({ sequence }) => acknowledged.includes(sequence)).map(({ id }) => id)
  if (ids.length > 0) await made.ben.acknowledge(...ids)
  return made
}

const age = ({ conversation }: Pair, stored: number, acknowledged = stored) =>
  tamper(data, (database) => {
    const set =
      'UPDATE messages SET created_at = ?, acknowledged_at = CASE WHEN acknowledged_at IS NOT NULL THEN ? END'
    database
      .prepare(`${set} WHERE conversation_id = ?`)
      .run(daysAgo(stored), daysAgo(acknowledged), conversation)
  })

const left = async ({ ada, conversation }: Pair): Promise<number[]> => {
  const target = `/api/v1/conversations/${conversation}/messages`
  return (await ada.ok<Page>({ target })).messages.map(({ sequence }) => sequence)
}

test('from a conversation the longest prefix of removable messages is removed', async () => {
  const pair = await spoken(6, [1, 2, 3, 5, 6])
  age(pair, 91)
  expect(await upkeep(data)).toMatchObject({ 'messages removed': 3 })
  expect(await left(pair)).toEqual([4, 5, 6])
  expect(await upkeep(data)).not.toHaveProperty('messages removed')
  await pair.ada.send(pair.conversation, pair.ben.id, 'numbers go on')
  expect(await left(pair)).toEqual([4, 5, 6, 7])
})

test('the history shows the gap in both directions, to agents and to the owner, and no gap above it', async () => {
  const pair = await spoken(5, [1, 2])
  age(pair, 91)
  await upkeep(data)
  const { project, ada, conversation } = pair
  const gap = { retention_gap: { removed_through_sequence: 2 } }
  const agents = (query: string) =>
    ada.ok<Page>({ target: `/api/v1/conversations/${conversation}/messages${query}` })
  const base = `/api/admin/projects/${project.id}/conversations/${conversation}/messages`
  const owners = (query: string) => world.owner.ok<Page>({ target: `${base}${query}` })
  const sequences = ({ messages }: Page) => messages.map(({ sequence }) => sequence)

  const first = await agents('?after_sequence=0&limit=1')
  expect(first).toMatchObject({ ...gap, has_more: true, next_sequence: 3 })
  expect(await agents('?after_sequence=1&limit=1')).toEqual(first)
  expect(await agents('?after_sequence=2&limit=1')).not.toHaveProperty('retention_gap')
  const forward = await owners('?after_sequence=0')
  expect([sequences(forward), forward]).toMatchObject([[3, 4, 5], gap])
  const backward = await owners('?before_sequence=5')
  expect([sequences(backward), backward]).toMatchObject([
    [3, 4],
    { ...gap, next_sequence: 3, has_more: false },
  ])
  expect(await owners('?before_sequence=3')).toEqual({
    messages: [],
    has_more: false,
    next_sequence: 3,
    ...gap,
  })
  expect(sequences(await owners(''))).toEqual([3, 4, 5])
  expect(await owners('?after_sequence=2')).not.toHaveProperty('retention_gap')
})

test('unacknowledged messages stay, however old, and so do messages that are recent by either of their times', async () => {
  const unread = await spoken(2, [])
  const young = await spoken(2, [1, 2])
  const lately = await spoken(2, [1, 2])
  age(unread, 1000)
  age(young, 89)
  age(lately, 1000, 89)
  await upkeep(data)
  for (const pair of [unread, young, lately]) expect(await left(pair)).toEqual([1, 2])
})

test('a message referenced by an open task or transfer stays, with all later ones, until that has ended', async () => {
  const { ada, ben, conversation } = await spoken(3, [1, 2, 3])
  const pair = { ada, ben, conversation } as Pair
  age(pair, 91)
  const second = (column: string, value: string | null) =>
    tamper(data, (database) =>
      database
        .prepare(`UPDATE messages SET ${column} = ? WHERE conversation_id = ? AND sequence = 2`)
        .run(value, conversation),
    )
  const transfer = await offer({ from: ada, to: ben, bytes: Buffer.from('some bytes') })
  second('transfer_id', transfer.id)
  await upkeep(data)
  expect((await left(pair)).slice(0, 2)).toEqual([2, 3])
  await act(ada, transfer.id, 'cancel')
  const body = { assignee_agent_id: ben.id, title: 'a task', instructions: 'as told' }
  const task = await ada.ok<{ id: string }>({ target: '/api/v1/tasks', body })
  second('task_id', task.id)
  await upkeep(data)
  expect((await left(pair)).slice(0, 2)).toEqual([2, 3])
  await ada.ok({ target: `/api/v1/tasks/${task.id}/cancel`, body: {} })
  await upkeep(data)
  expect((await left(pair))[0]).toBe(4)
})

test('a project keeps messages and audit records for as long as its policy requires', async () => {
  const policy = { retention_days: 2, audit_days: 3 }
  const project = await world.owner.createProject(world.name('project'), { policy })
  const [ada, ben] = [await world.agent(project.id), await world.agent(project.id)]
  const pair = await spoken(2, [1, 2], {
    project,
    ada,
    ben,
    conversation: await ada.conversationWith(ben.id),
  })
  age(pair, 2.1)
  const records = () =>
    tamper(data, (database) =>
      database.prepare('SELECT kind FROM audit WHERE project_id = ? ORDER BY id').pluck().all(project.id),
    )
  const before = records()
  tamper(data, (database) => {
    const old = firstIdAt(new Date(daysAgo(3.1))).replace('-0000-0000-', '-7000-8000-')
    const sql = 'UPDATE audit SET id = ?, at = ? WHERE project_id = ? AND kind = ?'
    database.prepare(sql).run(old, daysAgo(3.1), project.id, 'project.created')
  })
  expect(await upkeep(data)).toMatchObject({ 'messages removed': 2, 'audit records removed': 1 })
  expect(await left(pair)).toEqual([])
  expect(records()).toEqual([...before.slice(1), 'message.removed', 'audit.removed'])
})

test('a removal is recorded in the name of the service, with its amount and range', async () => {
  const pair = await spoken(2, [1, 2])
  age(pair, 91)
  await upkeep(data)
  const target = `/api/admin/projects/${pair.project.id}/audit?kind=message.removed`
  const { audit } = await world.owner.ok<{ audit: unknown[] }>({ target })
  const conversations = [{ conversation_id: pair.conversation, removed_through_sequence: 2 }]
  expect(audit).toMatchObject([
    { actor: { kind: 'system' }, request_id: null, details: { removed: 2, conversations } },
  ])
})

onSqlite('test/server/project-deletion.test.ts').test('removed data is overwritten in the file', async () => {
  const word = 'a-word-that-nothing-else-holds'
  const pair = await world.pair()
  const { id } = await pair.ada.send(pair.conversation, pair.ben.id, word.repeat(400))
  await pair.ben.acknowledge(id)
  age(pair, 91)
  onFile(data, (database) => database.exec('DELETE FROM idempotency; PRAGMA wal_checkpoint(TRUNCATE)'))
  const holdsIt = () => readFileSync(join(data, 'bridge.db')).includes(word)
  expect(holdsIt()).toBe(true)
  await upkeep(data)
  onFile(data, (database) => database.pragma('wal_checkpoint(TRUNCATE)'))
  expect(holdsIt()).toBe(false)
})

test('each batch makes progress, also if every step takes longer than a batch may', async () => {
  const pairs = [await spoken(2, [1, 2]), await spoken(2, [1, 2])]
  for (const pair of pairs) age(pair, 91)
  tamper(data, (database) => {
    const old = firstIdAt(new Date(daysAgo(366))).replace('-0000-0000-', '-7000-8000-')
    const sql = 'UPDATE audit SET id = ?, at = ? WHERE project_id = ? AND kind = ?'
    database.prepare(sql).run(old, daysAgo(366), pairs[0]?.project.id, 'project.created')
  })
  let now = 0
  const monotonicMs = () => {
    now += 10
    return now
  }
  expect(await upkeep(data, { monotonicMs })).toMatchObject({
    'messages removed': 4,
    'audit records removed': 1,
  })
  for (const pair of pairs) expect(await left(pair)).toEqual([])
})

test('stored answers are removed after seven days, enrolments after a month, the others once expired', async () => {
  await upkeep(data)
  const pair = await spoken(1, [])
  const counts = () =>
    tamper(data, (database) =>
      Object.fromEntries(
        ['idempotency', 'enrollments', 'challenges', 'takeovers', 'owner_links', 'owner_sessions'].map(
          (table) => [table, database.prepare(`SELECT count(*) FROM ${table}`).pluck().get() as number],
        ),
      ),
    )
  const device = '{"os":"linux","machine":"m-1","install":"i-1"}'
  await world.owner.takeover(pair.project.id, pair.ben.id)
  await world.linkToken()
  tamper(data, (database) => {
    database
      .prepare('INSERT INTO challenges VALUES (?, ?, ?, ?)')
      .run(
        Buffer.alloc(32),
        pair.ada.enrolled.credential_id,
        device,
        new Date(Date.now() + 60_000).toISOString(),
      )
  })
  const full = counts()
  expect(await upkeep(data)).toEqual({})
  expect(counts()).toEqual(full)
  tamper(data, (database) => {
    database.prepare('UPDATE idempotency SET created_at = ?').run(daysAgo(7.01))
    database.prepare('UPDATE enrollments SET expires_at = ?').run(daysAgo(30.01))
    for (const table of ['challenges', 'takeovers', 'owner_links'])
      database.prepare(`UPDATE ${table} SET expires_at = ?`).run(daysAgo(0.001))
    database.prepare(`UPDATE owner_sessions SET expires_at = ? WHERE ended_at IS NOT NULL`).run(daysAgo(1.01))
  })
  await upkeep(data)
  const { owner_sessions, ...rest } = counts()
  expect(rest).toEqual({ idempotency: 0, enrollments: 0, challenges: 0, takeovers: 0, owner_links: 0 })
  expect(owner_sessions).toBeGreaterThan(0)
  expect((await world.owner.call({ target: '/api/admin' })).status).toBe(200)
})
