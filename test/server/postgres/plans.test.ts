/**
 * Plans of the most frequent requests on PostgreSQL: no statement scans a large table, or sorts a large part
 * of one.
 * Runs with `BRIDGE_TEST_STORE=postgres`. The long form has `BRIDGE_ROWS=100000` rows a table.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PostgresConnection, type Statement } from '../../../server/database/postgres/connection.ts'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { createTask } from '../../support/tasks.ts'

const rows = Number(process.env.BRIDGE_ROWS ?? 5000)

/** The tables that grow without a bound. */
const large = ['messages', 'audit', 'tasks', 'idempotency'] as const

describe.skipIf(!isOnPostgres)('with many rows', () => {
  let bridge: TestBridge
  let conversation: string

  beforeAll(async () => {
    bridge = await startBridge()
    const { ada, ben } = bridge
    conversation = await ada.conversationWith(ben.id)
    for (const body of ['one', 'two']) await ada.send(conversation, ben.id, body)
    const { messages } = await ben.inbox()
    await ben.acknowledge(...messages.map(({ id }) => id))
    await createTask(ada, ben)
    await fill()
    await ada.send(conversation, ben.id, 'three')
  })
  afterAll(() => bridge.close())

  /** Makes the rows of each table by copying one, older than all others, and lets the planner count them. */
  async function fill(): Promise<void> {
    const hex = (number: string) => `lpad(to_hex(${number}), 4, '0')`
    const older = `'0190' || ${hex('n / 4096')} || '-' || ${hex('n % 4096')} || substr(id, 14)`
    /** One value in the first twentieth of the rows, the other in the rest. */
    const twentieth = (one: string, other: string) =>
      `CASE WHEN n <= ${rows / 20} THEN ${one} ELSE ${other} END`
    const changed: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      messages: { id: older, root_id: older, sequence: 'n' },
      tasks: {
        id: older,
        state: twentieth('state', "'completed'"),
        ended: twentieth('ended', "'completed'"),
        outcome_kind: twentieth('outcome_kind', "'completed'"),
      },
      idempotency: { key: 'key || n' },
      audit: { id: older, project_id: twentieth('NULL', 'project_id') },
    }
    await onDatabase(bridge.data, async (client) => {
      await client.query('UPDATE projects SET message_budget = 1000000')
      await client.query(`UPDATE messages SET sequence = sequence + ${rows}`)
      await client.query(`UPDATE conversations SET last_sequence = last_sequence + ${rows}`)
      for (const table of large) {
        const { rows: columns } = await client.query<{ name: string }>(
          `SELECT column_name AS name FROM information_schema.columns
           WHERE table_schema = 'public' AND table_name = $1 AND is_identity = 'NO'`,
          [table],
        )
        const names = columns.map(({ name }) => name)
        const values = names.map((name) => changed[table]?.[name] ?? name)
        await client.query(
          `INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
           FROM (SELECT * FROM ${table} LIMIT 1) one, generate_series(1, ${rows}) n`,
        )
      }
      await client.query('ANALYZE')
    })
  }

  const asBen = (target: string) => () => bridge.ben.ok({ target })
  const asOwner = (path: string) => () =>
    bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}${path}` })
  const requests: Readonly<Record<string, () => Promise<unknown>>> = {
    'a send': () => bridge.ada.send(conversation, bridge.ben.id, 'more'),
    'an inbox': asBen('/api/v1/inbox'),
    'the redeliveries of an inbox': async () => {
      bridge.clock.advance(120)
      await bridge.ben.ok({ target: '/api/v1/inbox' })
    },
    'everything unacknowledged': asBen('/api/v1/inbox/messages'),
    'an acknowledgement': async () => {
      const { id } = await bridge.ada.send(conversation, bridge.ben.id, 'to acknowledge')
      await bridge.ben.acknowledge(id)
    },
    'the latest history': () => asBen(`/api/v1/conversations/${conversation}/messages`)(),
    'history after a sequence': () =>
      asBen(`/api/v1/conversations/${conversation}/messages?after_sequence=${rows / 2}`)(),
    conversations: asBen('/api/v1/conversations'),
    'open tasks': asBen('/api/v1/tasks?state=open'),
    'all tasks': asBen('/api/v1/tasks'),
    'all tasks of a project, newest first': asOwner('/tasks?order=newest_first'),
    'the messages to the owner': () => bridge.owner.ok({ target: '/api/admin/inbox' }),
    'a page of the audit': asOwner('/audit'),
    'the audit of the node': () => bridge.owner.ok({ target: '/api/admin/audit' }),
    'the audit of the node, of an actor': () =>
      bridge.owner.ok({ target: `/api/admin/audit?actor_id=${bridge.ada.id}` }),
    'the audit of an actor': () => asOwner(`/audit?actor_id=${bridge.ada.id}`)(),
    'the audit of an actor, one kind': () => asOwner(`/audit?actor_id=${bridge.ada.id}&kind=message.sent`)(),
    'the audit of one kind': asOwner('/audit?kind=message.sent'),
    'the audit of one subject': () => asOwner(`/audit?subject_id=${conversation}`)(),
    'the last events': asOwner('/events'),
    'a snapshot': asOwner(''),
    'a failed sign-in': async () => {
      bridge.clock.advance(61)
      const body = { link_token: 'a'.repeat(43) }
      expect((await bridge.owner.call({ target: '/api/admin/session', body })).status).toBe(401)
    },
  }

  test.each(Object.entries(requests))('%s: no statement scans or sorts a large table', async (_, request) => {
    const statements = await statementsOf(request)
    expect(statements.length).toBeGreaterThan(2)
    const scans = await onDatabase(bridge.data, async (client) => {
      const found: string[] = []
      for (const { text, values } of statements) {
        const { rows: plan } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, [
          ...(values ?? []),
        ])
        const steps = plan.map((step) => step['QUERY PLAN'])
        if (
          steps.some((step) => scan.test(step) || walk.test(step) || isLargeSort(step)) ||
          leastOfAll.test(steps.join('\n'))
        )
          found.push([text, ...steps].join('\n'))
      }
      return found
    })
    expect(scans).toEqual([])
  })

  test('the check finds a scan', async () => {
    const plan = await onDatabase(bridge.data, (client) =>
      client.query<{ 'QUERY PLAN': string }>("EXPLAIN SELECT id FROM messages WHERE body = 'x'"),
    )
    expect(plan.rows.some((step) => scan.test(step['QUERY PLAN']))).toBe(true)
  })
})

const scan = new RegExp(`Seq Scan on (?:${large.join('|')})\\b`)

/** A filter instead of an index condition: the statement reads rows by id until enough of them match. */
const walk = /Filter: .*\((?:ended|project_id) IS NULL\)/

const isLargeSort = (step: string): boolean =>
  Number(/Sort {2}\(cost=\S+ rows=(\d+)/.exec(step)?.[1] ?? 0) > rows / 25

/** The least of an actor's kinds is computed from all its records, not the first that the index has. */
const leastOfAll = /Aggregate {2}.*\n +-> {2}Index (?:Only )?Scan using audit_by_actor/

/** Records the statements that the server of this process runs during the request. */
async function statementsOf(request: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  const { query } = PostgresConnection.prototype
  const spy = vi.spyOn(PostgresConnection.prototype, 'query').mockImplementation(function (
    this: PostgresConnection,
    statement: Statement,
  ) {
    statements.push(statement)
    return query.call(this, statement)
  } as typeof query)
  try {
    await request()
  } finally {
    spy.mockRestore()
  }
  return statements.filter(({ text }) => /^\s*(?:select|insert|update|delete|with)\b/i.test(text))
}
