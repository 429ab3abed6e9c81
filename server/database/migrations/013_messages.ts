/** Messages. inbox_agent_id is the agent in whose inbox it lies, null when it is for the owner. */
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
  UNIQUE (conversation_id, sequence),
  CHECK ((recipient_kind = 'owner') = (inbox_agent_id IS NULL))
) STRICT;
`
