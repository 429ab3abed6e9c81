/**
 * A full inbox: ten thousand messages, written directly into the data file of a stopped server.
 *
 * Sending ten thousand would take most of a minute; the rows are the same, copies of a sent one.
 */
import { limits } from '../../../sdk/contract/limits.ts'
import { openStore } from '../../support/test-store.ts'

export function fillInbox(data: string, agentId: string): void {
  const database = openStore(data)
  try {
    const columns = database.columnsOf('messages')
    const newest = database.prepare<string>('SELECT max(created_at) FROM messages').pluck().get() ?? ''
    const changed: Record<string, string> = {
      id: "substr(id, 1, 24) || printf('%012x', n)",
      root_id: "substr(id, 1, 24) || printf('%012x', n)",
      sequence: 'sequence + n',
      // One day old, so that the loop guard no longer counts them.
      created_at: `'${new Date(Date.parse(newest) - 86_400_000).toISOString()}'`,
    }
    const count = limits.inboxUnacknowledged - 1
    database.exec('BEGIN')
    database
      .prepare(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
         INSERT INTO messages (${columns.join(', ')})
         SELECT ${columns.map((name) => changed[name] ?? name).join(', ')}
         FROM (SELECT * FROM messages WHERE inbox_agent_id = ?) found, numbers`,
      )
      .run(agentId)
    database.exec(`UPDATE conversations SET last_sequence = last_sequence + ${count}`)
    database.prepare('UPDATE inboxes SET waiting = waiting + ? WHERE agent_id = ?').run(count, agentId)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}
