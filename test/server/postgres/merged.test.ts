/**
 * Requests that share a group on PostgreSQL, side by side and with merged statements, leave what the same
 * requests leave one after another on SQLite: the rows of all tables, and the answers. Runs with
 * `BRIDGE_TEST_STORE=postgres`. `BRIDGE_MERGE_SEEDS=200` draws that many sets.
 */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PostgresConnection } from '../../../server/database/postgres/connection.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import { batches, batchSize, drawBatches } from './merging/acts.ts'
import { remains } from './merging/plain.ts'
import { offerAll, onPostgres, onSqlite, run, type World } from './merging/world.ts'

const seeds = Array.from({ length: Number(process.env.BRIDGE_MERGE_SEEDS ?? 2) }, (_, index) => index + 1)

/** A run without merged statements compares the same store twice. */
const isOff = process.env.BRIDGE_MERGE_STATEMENTS !== undefined
/** Share of the statements that merging leaves at most. It left 0.71 to 0.87 of them in 25 sets. */
const fewer = 0.95

/** Tables that each set of requests fills. */
const filled = [
  ...['agents', 'pairings', 'credentials', 'sessions', 'conversations', 'messages', 'inboxes', 'tasks'],
  ...['transfers', 'nonces', 'idempotency', 'audit'],
]

/** The order of ids is the order of sequences, and none is missing. */
async function requireSequences(world: World): Promise<void> {
  const messages = await world.rows<{ sequence: number; conversation_id: string }>(
    'SELECT conversation_id, sequence FROM messages ORDER BY id',
  )
  for (const rows of Map.groupBy(messages, (each) => each.conversation_id).values())
    expect(rows.map(({ sequence }) => Number(sequence))).toEqual(rows.map((_, index) => index + 1))
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
    for (const acts of drawn) {
      const statuses: string[] = []
      for (const act of acts) statuses.push(await run(reference, act))
      expected.push(statuses.sort())
    }
    await offerAll(reference)
    await requireSequences(reference)
    const wanted = await remains(reference.rows, reference.labels)
    expect(filled.filter((table) => wanted[table]?.length === 0)).toEqual([])
    const sent: number[] = []
    const statements = vi.spyOn(PostgresConnection.prototype, 'query')
    for (const world of [merged, unmerged]) {
      const found: string[][] = []
      statements.mockClear()
      for (const acts of drawn) found.push((await Promise.all(acts.map((act) => run(world, act)))).sort())
      sent.push(statements.mock.calls.length)
      expect(found).toEqual(expected)
      await offerAll(world)
      await requireSequences(world)
      expect(await remains(world.rows, world.labels)).toEqual(wanted)
    }
    const [together = 0, alone = 0] = sent
    if (!isOff) expect(together).toBeLessThan(alone * fewer)
    const succeeded = expected.flat().filter((each) => each.includes(': 200 '))
    expect(succeeded.length).toBeGreaterThan((batches * batchSize) / 2)
    expect(succeeded.length).toBeLessThan(expected.flat().length)
  })
})
