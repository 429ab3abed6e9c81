/**
 * A full inbox: ten thousand messages, written directly into the data file of a stopped server.
 *
 * Sending ten thousand would take most of a minute; the rows are the same, copies of a sent one.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { limits } from '../../../sdk/contract/limits.ts'

export function fillInbox(data: string, agentId: string): void {
  const database = new Database(join(data, 'bridge.db'), { fileMustExist: true })
  try {
    const columns = (database.pragma('table_info(messages)') as { name: string }[]).map(({ name }) => name)
    const changed: Record<string, string> = {
      id: "substr(id, 1, 24) || printf('%012x', n)",
      root_id: "substr(id, 1, 24) || printf('%012x', n)",
      sequence: 'sequence + n',
      // One day old, so that the loop guard no longer counts them.
      created_at: "strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '-1 day')",
    }
    const count = limits.inboxUnacknowledged - 1
    database.exec('BEGIN')
    database
      .prepare(
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
         INSERT INTO messages (${columns.join(', ')})
         SELECT ${columns.map((name) => changed[name] ?? name).join(', ')}
         FROM (SELECT * FROM messages WHERE inbox_agent_id = ?), numbers`,
      )
      .run(agentId)
    database.exec(`UPDATE conversations SET last_sequence = last_sequence + ${count}`)
    database.prepare('UPDATE inboxes SET waiting = waiting + ? WHERE agent_id = ?').run(count, agentId)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}
