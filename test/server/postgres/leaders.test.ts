/** The work of the leader, done by two server processes at once. Runs with `BRIDGE_TEST_STORE=postgres`. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startTwoNodes, type TwoNodes } from '../../support/nodes.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { createTask } from '../../support/tasks.ts'

/** Every lease is over when it is written, so each node that asks for it gets it. `led` lists them. */
const leaseForAll = `
  CREATE TABLE led (holder text PRIMARY KEY);
  CREATE FUNCTION lease_for_all() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO led VALUES (NEW.holder) ON CONFLICT DO NOTHING;
    NEW.until := clock_timestamp() - interval '1 s';
    RETURN NEW;
  END $$;
  CREATE TRIGGER lease_for_all BEFORE INSERT OR UPDATE ON leases FOR EACH ROW EXECUTE FUNCTION lease_for_all();
  UPDATE leases SET until = clock_timestamp() - interval '1 s'; DELETE FROM led`

const tasks = 40

describe.skipIf(!isOnPostgres)('two nodes that both believe they lead', () => {
  let nodes: TwoNodes
  const query = async <R extends object>(text: string): Promise<R[]> =>
    onDatabase(nodes.first.data, async (client) => (await client.query<R>(text)).rows)

  beforeAll(async () => {
    nodes = await startTwoNodes()
    await query(leaseForAll)
    const led = () => query('SELECT holder FROM led')
    await vi.waitFor(async () => expect(await led()).toHaveLength(2), { timeout: 10_000, interval: 50 })
  })
  afterAll(() => nodes?.close())

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
