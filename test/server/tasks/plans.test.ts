/**
 * Listing and claiming follow an index whatever lies behind: by the plans of their queries, and with BRIDGE_TASKS=1000000
 * by the clock.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { tamper } from '../maintenance/upkeep.ts'
import { act, createTask, evidence, heldBy, listTasks } from './people.ts'

const many = Number(process.env.BRIDGE_TASKS ?? 0)

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const page = 'ORDER BY id LIMIT 51'
const after = "id > '00000000-0000-0000-0000-000000000000'"
const queries: Readonly<Record<string, readonly [sql: string, index: string]>> = {
  'a task by its id': ["SELECT * FROM tasks WHERE id = '1' AND project_id = '2'", 'sqlite_autoindex_tasks_1'],
  'given to an agent': [
    `SELECT * FROM tasks WHERE assignee_agent_id = '1' AND ${after} ${page}`,
    'tasks_by_assignee',
  ],
  'open for an agent': [
    `SELECT * FROM tasks WHERE assignee_agent_id = '1' AND state = 'open' AND ${after} ${page}`,
    'tasks_by_assignee_state',
  ],
  'given by an agent': [
    `SELECT * FROM tasks WHERE creator_agent_id = '1' AND ${after} ${page}`,
    'tasks_by_creator',
  ],
  'given by an agent and failed': [
    `SELECT * FROM tasks WHERE creator_agent_id = '1' AND state = 'failed' AND ${after} ${page}`,
    'tasks_by_creator_state',
  ],
  'of a project': [`SELECT * FROM tasks WHERE project_id = '1' AND ${after} ${page}`, 'tasks_by_project'],
  'of a project and failed': [
    `SELECT * FROM tasks WHERE project_id = '1' AND state = 'failed' AND ${after} ${page}`,
    'tasks_by_project_state',
  ],
  'whose claim is over': [
    "SELECT * FROM tasks WHERE claim_ends_at IS NOT NULL AND claim_ends_at <= '2' ORDER BY claim_ends_at LIMIT 50",
    'tasks_held',
  ],
  'held by a session': [
    "SELECT id FROM tasks WHERE claim_session_id = '1' AND claim_ends_at IS NOT NULL AND claim_ends_at > '2' LIMIT 1",
    'tasks_held_by',
  ],
  'what happened to a task': [
    `SELECT id FROM audit WHERE project_id = '1' AND subject_id = '2' AND ${after} ${page}`,
    'audit_by_subject',
  ],
}

test.each(Object.entries(queries))('%s: by index, in its order', (_, [sql, index]) => {
  const steps = tamper(bridge.data, (database) =>
    database.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(),
  ).map(({ detail }) => detail)
  expect(steps.filter((step) => /^SCAN|TEMP B-TREE/.test(step))).toEqual([])
  expect(steps.join(' ')).toMatch(new RegExp(`INDEX ${index}\\b`))
})

/** Medians in milliseconds of an open list and of a claim. */
async function costs(): Promise<{ list: number; claim: number }> {
  const { ada, ben } = bridge
  const lists: number[] = []
  const claims: number[] = []
  for (let round = 0; round < 60; round += 1) {
    const { id } = await createTask(ada, ben)
    const began = performance.now()
    await listTasks(ben, '?state=open&role=assignee')
    const listed = performance.now()
    const task = await act(ben, id, 'claim')
    lists.push(listed - began)
    claims.push(performance.now() - listed)
    await act(ben, id, 'complete', { ...heldBy(task), result: '90', evidence })
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
  return { list: median(lists), claim: median(claims) }
}

/** Copies of one finished task, written behind the server's back. */
function fill(from: number, count: number): void {
  tamper(bridge.data, (database) => {
    const columns = (database.pragma('table_info(tasks)') as { name: string }[]).map(({ name }) => name)
    const values = columns.map((name) =>
      name === 'id'
        ? "substr(id, 1, 15) || printf('%03x', n % 4096) || '-a' || substr(printf('%015x', n), 1, 3) || '-' || substr(printf('%015x', n), 4, 12)"
        : name,
    )
    database.exec(`WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO tasks (${columns.join(', ')}) SELECT ${values.join(', ')}
      FROM (SELECT * FROM tasks WHERE state = 'completed' LIMIT 1), numbers`)
    database.pragma('wal_checkpoint(TRUNCATE)')
  })
}

test.skipIf(many === 0)(
  `listing and claiming cost the same at 1000 and at ${many} finished tasks`,
  { timeout: 600_000 },
  async () => {
    await costs()
    fill(1, 1000)
    const few = await costs()
    fill(1001, many)
    // What was written at once is folded, and read once, as it would be where tasks came one by one.
    await costs()
    const lots = await costs()
    process.stdout.write(`${JSON.stringify({ few, lots })}\n`)
    expect(lots.list / few.list).toBeLessThan(1.5)
    expect(lots.claim / few.claim).toBeLessThan(1.5)
  },
)
