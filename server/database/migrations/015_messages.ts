/**
 * Messages, and the number of unacknowledged messages of each inbox.
 *
 * - `messages_fresh` finds messages that a session was not offered yet, oldest first. The index ends in the
 *   rowid, and rows are inserted in the order of their ids.
 * - `messages_due` finds messages that were offered and not acknowledged. It omits messages that were never
 *   offered, so sending a message writes one index entry fewer.
 * - `messages_awaited` finds questions that wait for an answer. `messages_to_owner` and
 *   `messages_owner_replies` find messages that an owner has not handled.
 * - The loop guard counts along `UNIQUE (conversation_id, sequence)`, so it needs no separate index.
 */
export const sql = `
CREATE TABLE messages (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  sequence INTEGER NOT NULL,
  sender_kind TEXT NOT NULL CHECK (sender_kind IN ('agent', 'owner', 'system')),
  sender_agent_id TEXT,
  sender_name TEXT NOT NULL,
  recipient_kind TEXT NOT NULL CHECK (recipient_kind IN ('agent', 'owner')),
  recipient_agent_id TEXT NOT NULL,
  inbox_agent_id TEXT,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  encoding TEXT NOT NULL CHECK (encoding IN ('text', 'age')),
  in_reply_to TEXT,
  root_id TEXT NOT NULL,
  hops INTEGER NOT NULL,
  task_id TEXT,
  transfer_id TEXT,
  expects_reply_by TEXT,
  created_at TEXT NOT NULL,
  offers INTEGER NOT NULL,
  offered_generation INTEGER NOT NULL,
  first_offered_at TEXT,
  last_offered_at TEXT,
  acknowledged_at TEXT,
  answered_at TEXT,
  UNIQUE (conversation_id, sequence),
  CHECK ((recipient_kind = 'owner') = (inbox_agent_id IS NULL))
) STRICT;
CREATE INDEX messages_to_owner ON messages (project_id, type, id)
  WHERE recipient_kind = 'owner' AND acknowledged_at IS NULL;
CREATE INDEX messages_owner_replies ON messages (in_reply_to)
  WHERE sender_kind = 'owner' AND in_reply_to IS NOT NULL;
CREATE INDEX messages_due ON messages (inbox_agent_id, offered_generation, last_offered_at)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL AND last_offered_at IS NOT NULL;
CREATE INDEX messages_fresh ON messages (inbox_agent_id, offered_generation)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL;
CREATE INDEX messages_awaited ON messages (project_id, expects_reply_by)
  WHERE type = 'question' AND sender_kind = 'agent' AND recipient_kind = 'agent'
    AND expects_reply_by IS NOT NULL AND answered_at IS NULL;
CREATE TABLE inboxes (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  waiting INTEGER NOT NULL CHECK (waiting >= 0)
) STRICT, WITHOUT ROWID;
`
