/**
 * Listing and claiming follow an index, whatever the number of tasks. The test checks the plans of the
 * server's statements, and with BRIDGE_TASKS=1000000 also the time.
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { sqliteOnly } from '../../support/one-store.ts'
import { onFile } from '../../support/sqlite-file.ts'
import { explain, growing, indexesOf, statementsDuring, statementsOf } from '../../support/statements.ts'
import { act, createAsOwner, createTask, evidence, heldBy, listTasks } from '../../support/tasks.ts'

sqliteOnly('test/server/postgres/plans.test.ts')

const many = Number(process.env.BRIDGE_TASKS ?? 0)

let bridge: TestBridge

beforeAll(async () => {
  bridge = await startBridge()
})
afterAll(() => bridge.close())

const ofProject = (query = '') =>
  bridge.owner.ok({ target: `/api/admin/projects/${bridge.project.id}/tasks${query}` })

const requests: Readonly<Record<string, readonly [request: () => Promise<unknown>, index: string]>> = {
  'given to an agent': [() => listTasks(bridge.ben, '?role=assignee'), 'tasks_by_assignee'],
  'open for an agent': [() => listTasks(bridge.ben, '?role=assignee&state=open'), 'tasks_by_assignee'],
  'failed by an agent': [() => listTasks(bridge.ben, '?role=assignee&state=failed'), 'tasks_by_assignee'],
  'given by an agent': [() => listTasks(bridge.ada, '?role=creator'), 'tasks_by_creator'],
  'given by an agent, open': [() => listTasks(bridge.ada, '?role=creator&state=open'), 'tasks_by_creator'],
  'given by an agent, failed': [
    () => listTasks(bridge.ada, '?role=creator&state=failed'),
    'tasks_by_creator',
  ],
  'of an agent in either role': [() => listTasks(bridge.ada), 'tasks_by_creator'],
  'of a project': [() => ofProject(), 'tasks_by_project'],
  'of a project, open': [() => ofProject('?state=open'), 'tasks_by_project'],
  'of a project, failed': [() => ofProject('?state=failed'), 'tasks_by_project'],
  'of a project, newest first': [() => ofProject('?order=newest_first'), 'tasks_by_project'],
  'of a project, open, newest first': [() => ofProject('?order=newest_first&state=open'), 'tasks_by_project'],
  'of a project, given to an agent, newest first': [
    () => ofProject(`?order=newest_first&assignee_agent_id=${bridge.ben.id}`),
    'tasks_by_assignee',
  ],
  'of a project, given to an agent': [
    () => ofProject(`?assignee_agent_id=${bridge.ben.id}`),
    'tasks_by_assignee',
  ],
  'created, claimed, renewed, progressed, completed': [wholeTask, 'tasks_held'],
  'created by the owner': [() => createAsOwner(bridge, bridge.ben), 'conversations_one_an_owner'],
  'its timeline': [
    async () => {
      const { id } = await createTask(bridge.ada, bridge.ben)
      await bridge.ada.ok({ target: `/api/v1/tasks/${id}/timeline` })
    },
    'audit_by_subject',
  ],
  'a claim that keeps its session': [
    async () => {
      const ben = await bridge.agent(`holder ${randomUUID()}`)
      await ben.requestSession(randomUUID())
    },
    'tasks_held_by',
  ],
}

async function wholeTask(): Promise<void> {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben)
  await listTasks(ben, '?state=open')
  const held = heldBy(await act(ben, id, 'claim'))
  await act(ben, id, 'renew', held)
  await act(ben, id, 'progress', { ...held, note: 'half', percent: 50 })
  await act(ben, id, 'complete', { ...held, result: '90', evidence })
}

test.each(Object.entries(requests))(
  '%s: every statement follows an index in its order',
  async (_, [request, index]) => {
    const explained = explain(bridge.data, await statementsOf(request))
    expect(growing(explained)).toEqual([])
    expect(indexesOf(explained)).toContain(index)
  },
)

test.each([
  ['?role=assignee&state=claimed', 'tasks_held_by'],
  ['?role=creator&state=cancel_requested', 'tasks_held'],
])(
  'the held tasks of an agent, %s, are found by the end of their claim, and only they are sorted',
  async (query, index) => {
    const explained = explain(bridge.data, await statementsOf(() => listTasks(bridge.ada, query)))
    const [found, ...others] = growing(explained)
    expect(others).toEqual([])
    expect(found?.steps[0]).toMatch(
      new RegExp(`^SEARCH tasks USING INDEX ${index} \\(.*claim_ends_at>\\?\\)`),
    )
  },
)

test('claiming, renewing and progress do not update the sort column of the task lists', async () => {
  const { ada, ben } = bridge
  const { id } = await createTask(ada, ben)
  const texts = await statementsDuring(async () => {
    const held = heldBy(await act(ben, id, 'claim'))
    await act(ben, id, 'renew', held)
    await act(ben, id, 'progress', { ...held, note: 'half' })
  })
  const updates = texts.filter((text) => text.startsWith('update "tasks"'))
  expect(updates.length).toBeGreaterThan(1)
  expect(updates.filter((text) => text.includes('"ended"'))).toEqual([])
})

/** Returns the medians in milliseconds of a list of open tasks and of a claim. */
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

/** Inserts copies of one finished task into the data file, in the order of their ids. */
function fill(from: number, count: number): void {
  onFile(bridge.data, (database) => {
    database.pragma('synchronous = OFF')
    database.pragma('cache_size = -200000')
    const columns = (database.pragma('table_info(tasks)') as { name: string }[]).map(({ name }) => name)
    const values = columns.map((name) => (name === 'id' ? "substr(id, 1, 24) || printf('%012x', n)" : name))
    database.exec(`WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
      INSERT INTO tasks (${columns.join(', ')}) SELECT ${values.join(', ')}
      FROM (SELECT * FROM tasks WHERE ended = 'completed' ORDER BY id LIMIT 1), numbers`)
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
    // The bulk insert is checkpointed and read once, which is the state after tasks that arrive one by one.
    await costs()
    const lots = await costs()
    process.stdout.write(`${JSON.stringify({ few, lots })}\n`)
    expect(lots.list / few.list).toBeLessThan(1.5)
    expect(lots.claim / few.claim).toBeLessThan(1.5)
  },
)
