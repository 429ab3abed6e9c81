/**
 * Helpers for tests of delivery: an agent whose wait is certainly open, and direct access to the data file.
 */
import type { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import { isOnPostgres } from '../../support/postgres.ts'
import type { OpenStream } from '../../support/streams.ts'
import { withStore } from '../../support/test-store.ts'

export interface ConnectionWords {
  readonly connected: boolean
  readonly listening_now: boolean
  readonly last_contact_at: string | null
  readonly next_contact: { kind: string; expected_at: string | null; overdue: boolean }
}

/** Returns the connection state of an agent, as its owner reads it. */
export async function connectionOf({ owner }: TestBridge, agent: TestAgent): Promise<ConnectionWords> {
  const target = `/api/admin/projects/${agent.enrolled.project.id}/agents/${agent.id}`
  return (await owner.ok<{ connection: ConnectionWords }>({ target })).connection
}

/** Repeats a request until the answer matches; fails by the test's time limit. */
export async function until<T>(ask: () => Promise<T> | T, is: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (is(answer)) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Opens a wait and returns once the server holds it. */
export async function listen<S extends OpenStream>(
  bridge: TestBridge,
  agent: TestAgent,
  open: (agent: TestAgent) => S,
): Promise<S> {
  const stream = open(agent)
  await until(
    () => connectionOf(bridge, agent),
    (words) => words.listening_now,
  )
  return stream
}

/** Changes the store as another process would: the server is not notified. */
export function behindItsBack(bridge: TestBridge, sql: string, ...values: readonly unknown[]): void {
  const { changes } = withStore(bridge.data, (store) => store.prepare(sql).run(...values))
  if (changes === 0) throw new Error('nothing was changed')
}

/** Inserts a copy of the conversation's last message, newer and not offered yet. */
export function storeBehindItsBack(bridge: TestBridge, conversationId: string): void {
  withStore(bridge.data, (store) => {
    const lane = 'SELECT project_id FROM conversations WHERE id = ?'
    // On PostgreSQL an id is greater than the last one of its lane, whatever the clock of the node says.
    const last = isOnPostgres
      ? String(store.prepare(`SELECT last FROM lanes WHERE lane = (${lane})`).pluck().get(conversationId))
      : ''
    const afterLastMs = isOnPostgres ? Number.parseInt(last.replace('-', '').slice(0, 12), 16) + 1 : 0
    const ms = Math.max(bridge.clock().getTime(), afterLastMs)
    const time = ms.toString(16).padStart(12, '0')
    const changed: Record<string, string> = {
      id: `'${time.slice(0, 8)}-${time.slice(8)}-7fff-bfff-ffffffffffff'`,
      sequence: 'sequence + 1',
      offers: '0',
      offered_generation: '0',
      first_offered_at: 'NULL',
      last_offered_at: 'NULL',
      acknowledged_at: 'NULL',
    }
    const columns = store.columnsOf('messages')
    store
      .prepare(
        `INSERT INTO messages (${columns.join(', ')}) SELECT ${columns.map((name) => changed[name] ?? name).join(', ')}
         FROM messages WHERE conversation_id = ? ORDER BY sequence DESC LIMIT 1`,
      )
      .run(conversationId)
    store
      .prepare('UPDATE conversations SET last_sequence = last_sequence + 1 WHERE id = ?')
      .run(conversationId)
    // Another node raises the last id of the lane in the same transaction.
    if (isOnPostgres) {
      const newest = 'SELECT max(id) FROM messages WHERE conversation_id = ?'
      store
        .prepare(`UPDATE lanes SET last = (${newest}) WHERE lane = (${lane})`)
        .run(conversationId, conversationId)
    }
  })
}

/** Returns the first column of the first row. */
export const lookUp = (bridge: TestBridge, sql: string, ...values: readonly unknown[]): unknown =>
  withStore(bridge.data, (store) =>
    store
      .prepare(sql)
      .pluck()
      .get(...values),
  )
