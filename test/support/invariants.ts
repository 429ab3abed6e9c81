/**
 * The invariants of the store after every fault: queries that return the rows that violate a rule, and on
 * SQLite its own checks.
 *
 * Reliability §1 P2, §3.1 "I-ALL".
 */
import { isOnPostgres } from './postgres.ts'
import type { TestStore } from './test-store.ts'

export interface Invariant {
  readonly name: string
  readonly sql: string
}

export const invariants: readonly Invariant[] = [
  {
    name: 'the sequences of a conversation are the ones after what was removed, up to its counter',
    sql: `SELECT c.id, c.last_sequence, c.removed_through_sequence, count(m.id), max(m.sequence)
      FROM conversations c LEFT JOIN messages m ON m.conversation_id = c.id GROUP BY c.id
      HAVING count(m.id) <> c.last_sequence - c.removed_through_sequence
        OR coalesce(max(m.sequence), c.removed_through_sequence) <> c.last_sequence
        OR coalesce(min(m.sequence), c.last_sequence + 1) <> c.removed_through_sequence + 1`,
  },
  {
    name: 'within a conversation ids increase with sequences',
    sql: `SELECT a.id, b.id FROM messages a JOIN messages b
      ON b.conversation_id = a.conversation_id AND b.sequence = a.sequence + 1 WHERE b.id <= a.id`,
  },
  {
    name: 'an inbox counts its unacknowledged messages',
    sql: `SELECT a.id, coalesce(i.waiting, 0), count(m.id) FROM agents a
      LEFT JOIN inboxes i ON i.agent_id = a.id
      LEFT JOIN messages m ON m.inbox_agent_id = a.id AND m.acknowledged_at IS NULL
      GROUP BY a.id, i.waiting HAVING coalesce(i.waiting, 0) <> count(m.id)`,
  },
  {
    name: 'an agent has at most one active session',
    sql: `SELECT agent_id, count(*) FROM sessions WHERE state = 'active' GROUP BY agent_id HAVING count(*) > 1`,
  },
  {
    name: 'the generations of an agent are 1, 2, 3 … up to its counter, except for the jump of each restore',
    sql: `WITH restored AS MATERIALIZED (SELECT CAST(json_extract(details, '$.generation') AS INTEGER) AS generation FROM audit
        WHERE kind = 'node.restored'),
      steps AS (SELECT agent_id, generation, lag(generation, 1, 0) OVER (PARTITION BY agent_id ORDER BY generation) AS last
        FROM sessions)
      SELECT agent_id, last, generation FROM steps
      WHERE generation <> last + 1 AND generation - 1 NOT IN (SELECT generation FROM restored)
      UNION ALL SELECT a.id, a.session_generation, max(s.generation) FROM agents a
      LEFT JOIN sessions s ON s.agent_id = a.id GROUP BY a.id
      HAVING coalesce(max(s.generation), 0) <> a.session_generation
        AND a.session_generation NOT IN (SELECT generation FROM restored)`,
  },
  {
    name: 'only the newest session of an agent is active, and an ended one has its end time',
    sql: `SELECT s.id FROM sessions s JOIN agents a ON a.id = s.agent_id
      WHERE (s.state = 'active' AND s.generation <> a.session_generation)
        OR (s.state = 'active') <> (s.ended_at IS NULL)`,
  },
  {
    name: 'each message sent has one audit record',
    sql: `SELECT m.id, count(a.id) FROM messages m
      LEFT JOIN audit a ON a.subject_id = m.id AND a.kind = 'message.sent'
      WHERE m.sender_kind <> 'system' GROUP BY m.id HAVING count(a.id) <> 1`,
  },
  {
    name: 'each audit record of a message names a stored one',
    sql: `SELECT a.id FROM audit a WHERE a.kind = 'message.sent'
      AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = a.subject_id)`,
  },
  {
    name: 'each session started has one audit record',
    sql: `SELECT s.id, count(a.id) FROM sessions s
      LEFT JOIN audit a ON a.subject_id = s.id AND a.kind = 'session.started' GROUP BY s.id HAVING count(a.id) <> 1`,
  },
  {
    name: 'each acknowledged message is in one audit record',
    sql: `WITH told AS MATERIALIZED (SELECT e.value AS id FROM audit a, json_each(a.details, '$.message_ids') e
        WHERE a.kind = 'message.acknowledged')
      SELECT m.id, count(t.id) FROM messages m LEFT JOIN told t ON t.id = m.id
      GROUP BY m.id HAVING count(t.id) <> CASE WHEN m.acknowledged_at IS NULL THEN 0 ELSE 1 END`,
  },
  {
    name: 'each stored answer to a send names a stored message',
    sql: `SELECT i.key FROM idempotency i WHERE i.route = '/api/v1/messages' AND NOT EXISTS
      (SELECT 1 FROM messages m WHERE m.id = json_extract(i.answer, '$.message.id')
        AND m.sequence = CAST(json_extract(i.answer, '$.message.sequence') AS INTEGER))`,
  },
  {
    name: 'each message of an agent is in exactly one stored answer',
    sql: `WITH told AS MATERIALIZED (SELECT json_extract(answer, '$.message.id') AS id FROM idempotency
        WHERE route = '/api/v1/messages')
      SELECT m.id, count(t.id) FROM messages m LEFT JOIN told t ON t.id = m.id
      WHERE m.sender_kind = 'agent' GROUP BY m.id HAVING count(t.id) <> 1`,
  },
  {
    name: 'a task has the one message of its creation, and each such message its task',
    sql: `SELECT t.id, count(m.id) FROM tasks t
      LEFT JOIN messages m ON m.task_id = t.id AND m.body LIKE 'new task%'
      GROUP BY t.id HAVING count(m.id) <> 1
      UNION ALL SELECT m.id, 0 FROM messages m
      WHERE m.task_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.id = m.task_id)`,
  },
  {
    name: 'a task has as many claims as attempts and generations, and each is in the audit',
    sql: `SELECT t.id, t.attempts, t.claim_generation, count(a.id) FROM tasks t
      LEFT JOIN audit a ON a.subject_id = t.id AND a.kind = 'task.claimed'
      GROUP BY t.id HAVING t.attempts <> t.claim_generation OR count(a.id) <> t.attempts`,
  },
  {
    name: 'a task is held exactly in the held states, and has an outcome exactly in the states with one',
    sql: `SELECT id, state, outcome_kind FROM tasks
      WHERE (state IN ('claimed', 'cancel_requested')) <> (claim_ends_at IS NOT NULL)
        OR (state IN ('completed', 'failed', 'declined')) <> (outcome_kind IS NOT NULL)
        OR (state IN ('cancel_requested', 'cancelled') AND cancel_requested_at IS NULL)`,
  },
  {
    name: 'a task is in the lists of ended tasks exactly if it ended, under its state',
    sql: `SELECT id, state, ended FROM tasks
      WHERE ended IS DISTINCT FROM CASE WHEN state NOT IN ('open', 'claimed', 'cancel_requested') THEN state END`,
  },
  {
    name: 'each acknowledged message was offered',
    sql: `SELECT id FROM messages WHERE acknowledged_at IS NOT NULL AND (offers = 0 OR first_offered_at IS NULL)`,
  },
]

/** Returns a sentence for every fault; empty if the store is valid. */
export function checkStore(store: Pick<TestStore, 'prepare'>): string[] {
  return [
    ...(isOnPostgres ? [] : checkFile(store)),
    ...invariants.flatMap(({ name, sql }) =>
      store
        .prepare(sql)
        .all()
        .map((row) => `${name}: ${JSON.stringify(row)}`),
    ),
  ]
}

function checkFile(store: Pick<TestStore, 'prepare'>): string[] {
  const integrity = store.prepare<string>('PRAGMA integrity_check').pluck().all()
  const foreign = store.prepare('PRAGMA foreign_key_check').all()
  return [
    ...integrity.filter((line) => line !== 'ok').map((line) => `integrity: ${line}`),
    ...foreign.map((row) => `foreign key: ${JSON.stringify(row)}`),
  ]
}
