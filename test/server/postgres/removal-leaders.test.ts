/**
 * Removals that two leaders finish at the same time, after both nodes were killed: of deleted projects, of
 * packages whose transfer ended, and of objects without a transfer. Runs with `BRIDGE_TEST_STORE=postgres`.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { act, fileOf, look, offer, upload } from '../../support/files.ts'
import { agentAt, ownerAt, startTwoNodes, type TwoNodes } from '../../support/nodes.ts'
import { holdDeletes, type ObjectStore, startObjectStore, testKeys } from '../../support/object-store.ts'
import { type People, pairIn } from '../../support/people.ts'
import { isOnPostgres, onDatabase } from '../../support/postgres.ts'
import { soon } from '../../support/waits.ts'
import { leaseToAll, untilLed } from './lead-of-both.ts'

const bytes = fileOf(300_000)
const partSize = 100_000
const packages = 4
/** More than one batch of the removal. */
const messages = 1000
const within = { timeout: 120_000, interval: 50 }

describe.skipIf(!isOnPostgres)('two leaders that finish the same removals', () => {
  let store: ObjectStore
  let nodes: TwoNodes
  beforeAll(async () => {
    store = await startObjectStore()
    const settings = { ...store.settings(), package_bytes: String(20 * bytes.length), rate_burst: '10000' }
    nodes = await startTwoNodes({ settings, environment: testKeys })
  })
  afterAll(async () => {
    await nodes?.close()
    await store?.close()
  })
  const query = async <R extends object>(text: string): Promise<R[]> =>
    onDatabase(nodes.first.data, async (client) => (await client.query<R>(text)).rows)

  const uploaded = async ({ ada, ben }: Pick<People, 'ada' | 'ben'>): Promise<string> => {
    const { id, ...rest } = await offer({ from: ada, to: ben, bytes, partSize })
    await upload(ada, { id, ...rest }, bytes)
    return id
  }
  const objectsOf = (ids: readonly string[]) =>
    [...store.objects.keys()].filter((key) => ids.some((id) => key.includes(id)))

  test('remove everything once, keep the rest, and report no failed work', async () => {
    const { first, second, owner, project } = nodes
    const doomed = await pairIn(first, owner, 'doomed')
    const conversation = await doomed.ada.conversationWith(doomed.ben.id)
    const { id: sample } = await doomed.ada.send(conversation, doomed.ben.id, 'one of many')
    const lost = [await uploaded(doomed)]
    const kept = await uploaded(nodes)
    const ended: string[] = []
    while (ended.length < packages) ended.push(await uploaded(nodes))
    const stray = `some/prefix/packages/00000000-0000-7000-8000-000000000001/0-${'a'.repeat(64)}`
    store.objects.set(stray, { bytes: Buffer.from('x'), changedAt: new Date(Date.now() - 2 * 3_600_000) })
    await query(`INSERT INTO messages SELECT (jsonb_populate_record(m, jsonb_build_object('id', gen_random_uuid(),
      'sequence', m.sequence + 1000 + n))).* FROM messages m, generate_series(1, ${messages}) AS n WHERE m.id = '${sample}'`)
    await leaseToAll(first.data)

    // The removals wait until the other node has stopped its streams. Both nodes are killed before the store deletes.
    const mayDelete = holdDeletes(store)
    const cancelled = await Promise.all(
      ended.map((id, index) => act(index % 2 === 0 ? nodes.ada : agentAt(second, nodes.ada), id, 'cancel')),
    )
    expect(cancelled.map(({ status }) => status)).toEqual(ended.map(() => 200))
    const deletion = ownerAt(second, owner)
      .deleteProject(doomed.project.id, 'doomed')
      .catch(() => undefined)
    const isDeleted = () =>
      query(`SELECT 1 FROM projects WHERE id = '${doomed.project.id}' AND deleted_at IS NOT NULL`)
    await vi.waitFor(async () => expect(await isDeleted()).toHaveLength(1), { ...soon, interval: 5 })
    await Promise.all([first.kill('SIGKILL'), second.kill('SIGKILL')])
    await deletion
    expect(objectsOf([...ended, ...lost])).toHaveLength(3 * (packages + 1))
    mayDelete()
    const errorsBefore = first.errors + second.errors
    await query('DELETE FROM led')
    await Promise.all([first.start(), second.start()])
    await untilLed(first.data, 2)

    const left = () =>
      query<{ table: string }>(`SELECT 'projects' AS table FROM projects WHERE id = '${doomed.project.id}'
        UNION ALL SELECT 'messages' FROM messages WHERE conversation_id = '${conversation}'
        UNION ALL SELECT 'agents' FROM agents WHERE project_id = '${doomed.project.id}'
        UNION ALL SELECT 'transfers' FROM transfers WHERE project_id = '${doomed.project.id}'
        UNION ALL SELECT 'audit' FROM audit WHERE project_id = '${doomed.project.id}'
        UNION ALL SELECT 'ended' FROM transfers WHERE state = 'cancelled' AND removed_at IS NULL`)
    await vi.waitFor(async () => expect(await left()).toEqual([]), within)
    await vi.waitFor(() => expect(objectsOf([...ended, ...lost, stray])).toEqual([]), within)
    // A second removal of a leader that was late would still be running.
    await new Promise((resolve) => setTimeout(resolve, 500))

    const records = async (kind: string) =>
      (await query<{ id: string }>(`SELECT subject_id AS id FROM audit WHERE kind = '${kind}'`)).map(
        ({ id }) => id,
      )
    expect((await records('transfer.package_removed')).toSorted()).toEqual(ended.toSorted())
    expect(await records('project.deleted')).toEqual([doomed.project.id])
    const reserved = await query(
      `SELECT sum(reserved_bytes)::int AS bytes, count(*)::int AS count FROM transfers WHERE reserved_bytes > 0`,
    )
    expect(reserved).toEqual([{ bytes: bytes.length, count: 1 }])
    expect(objectsOf([kept])).toHaveLength(3)
    expect((first.errors + second.errors).slice(errorsBefore.length)).toBe('')
    for (const node of [first, second]) {
      const there = ownerAt(node, owner)
      const statusOf = async (id: string) =>
        (await there.call({ target: `/api/admin/projects/${id}/agents` })).status
      expect([await statusOf(project.id), await statusOf(doomed.project.id)]).toEqual([200, 404])
      expect((await look(agentAt(node, nodes.ada), kept)).package?.removed_at).toBeNull()
    }
  })
})
