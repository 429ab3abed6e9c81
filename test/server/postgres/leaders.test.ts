/** The work of the leader, done by two server processes at once. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { hostRetention } from '../../../server/telemetry/store.ts'
import { startTwoNodes, type TwoNodes } from '../../support/nodes.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { createTask } from '../../support/tasks.ts'
import { openUpkeep } from '../maintenance/upkeep.ts'
import { leaseToAll, untilLed } from './lead-of-both.ts'

const old = '2020-01-01T00:00:00.000Z'
const digest = "sha256(convert_to(n::text, 'UTF8'))"

const tasks = 40
const messages = 80
const rows = 300

/** Rows that each job of the maintenance removes, and old dates for those that are there. */
const oldRows = (project: string, ada: string, ben: string, credential: string) => `
  UPDATE messages SET created_at = '${old}', acknowledged_at = '${old}' WHERE body = 'old';
  UPDATE idempotency SET created_at = '${old}';
  INSERT INTO audit (id, at, kind, project_id, actor_kind, actor_name, subject_type, details)
    SELECT '01600000-0000-7000-8000-' || lpad(n::text, 12, '0'), '${old}', 'task.expired', '${project}', 'system',
      '', 'task', '{}' FROM generate_series(1, ${rows}) AS n;
  INSERT INTO enrollments (id, project_id, agent_id, code_sha256, binding, scopes, keep_existing, state, created_at,
    expires_at) SELECT gen_random_uuid(), '${project}', '${ada}', ${digest}, 'key', 'tasks', 0, 'revoked', '${old}',
      '${old}' FROM generate_series(1, ${rows}) AS n;
  INSERT INTO challenges SELECT ${digest}, '${credential}', '-', '${old}' FROM generate_series(1, ${rows}) AS n;
  INSERT INTO takeovers SELECT unnest(ARRAY['${ada}', '${ben}']), '', '${old}', NULL;
  INSERT INTO owner_links SELECT ${digest}, 'sign_in', '${old}', '${old}', NULL, NULL
    FROM generate_series(1, ${rows}) AS n;
  INSERT INTO owner_sessions SELECT gen_random_uuid(), (SELECT id FROM owner_users LIMIT 1), ${digest}, '${old}',
    '${old}', '${old}', '${old}', '', NULL FROM generate_series(1, ${rows}) AS n;
  INSERT INTO telemetry_hosts SELECT 'host ' || n, '${old}', 1, 1, 1, '${old}' FROM generate_series(1, ${rows}) AS n`

describe.skipIf(!isOnPostgres)('two nodes that both believe they lead', () => {
  let nodes: TwoNodes
  const query = async <R extends object>(text: string): Promise<R[]> =>
    onDatabase(nodes.first.data, async (client) => (await client.query<R>(text)).rows)

  beforeAll(async () => {
    nodes = await startTwoNodes()
    await leaseToAll(nodes.first.data)
    await untilLed(nodes.first.data, 2)
  })
  afterAll(() => nodes?.close())

  test('run each maintenance job once in all', async () => {
    const { first, ada, ben, project } = nodes
    const conversation = await ada.conversationWith(ben.id)
    // Together, because each node runs the jobs itself a minute after its start.
    const sent = await Promise.all(
      Array.from({ length: messages }, () => ada.send(conversation, ben.id, 'old')),
    )
    await ben.acknowledge(...sent.map(({ id }) => id))
    await query(oldRows(project.id, ada.id, ben.id, ada.enrolled.credential_id))
    const [answers] = await query<{ n: number }>('SELECT count(*)::int AS n FROM idempotency')
    const both = await Promise.all([openUpkeep(first.data), openUpkeep(first.data)])
    const sums: Record<string, number> = {}
    for (let round = 0; round < 2; round += 1)
      for (const { jobs } of await Promise.all(both.map((each) => each.cycle())))
        for (const { name, done } of jobs) sums[name] = (sums[name] ?? 0) + done
    await Promise.all(both.map((each) => each.close()))
    expect(both.flatMap(({ failures }) => failures)).toEqual([])
    expect(sums).toMatchObject({
      'messages removed': messages,
      'audit records removed': rows,
      'stored answers removed': answers?.n,
      'enrolments removed': rows,
      'challenges removed': rows,
      'takeover grants removed': 2,
      'sign-in links removed': rows,
      'sign-ins removed': rows,
      [hostRetention.name]: rows,
    })
    const removed = (kind: string) =>
      query(`SELECT sum((details::json ->> 'removed')::int)::int AS n FROM audit WHERE kind = '${kind}'`)
    expect(await removed('message.removed')).toEqual([{ n: messages }])
    expect(await removed('audit.removed')).toEqual([{ n: rows }])
    const kept = await query(
      `SELECT removed_through_sequence::int AS n FROM conversations WHERE id = '${conversation}'`,
    )
    expect(kept).toEqual([{ n: messages }])
  })

  test('end each expired claim once', async () => {
    const { ada, ben } = nodes
    const ids: string[] = []
    for (let index = 0; index < tasks; index += 1) ids.push((await createTask(ada, ben)).id)
    await Promise.all(ids.map((id) => ben.ok({ target: `/api/v1/tasks/${id}/claim`, body: {} })))
    await query("UPDATE tasks SET claim_ends_at = '2020-01-01T00:00:00.000Z'")
    const ended = () =>
      query<{ subject_id: string }>("SELECT subject_id FROM audit WHERE kind = 'task.expired'")
    await vi.waitFor(async () => expect((await ended()).length).toBeGreaterThanOrEqual(tasks), {
      timeout: 10_000,
      interval: 50,
    })
    // Both look again each second.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    const subjects = (await ended()).map(({ subject_id }) => subject_id)
    expect(subjects.toSorted()).toEqual(ids.toSorted())
    const states = await query<{ state: string }>('SELECT DISTINCT state FROM tasks')
    expect(states).toEqual([{ state: 'open' }])
  })

  test('report no failed work', () => {
    const { first, second } = nodes
    expect(first.errors + second.errors).toBe('')
  })
})
