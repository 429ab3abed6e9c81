/** Conversations: one per pair, and one per agent with the owner. `last_sequence` numbers the messages. */
export const sql = `
CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  kind TEXT NOT NULL CHECK (kind IN ('peer', 'owner')),
  agent_a TEXT NOT NULL REFERENCES agents (id),
  agent_b TEXT REFERENCES agents (id),
  last_sequence INTEGER NOT NULL,
  removed_through_sequence INTEGER NOT NULL,
  budget_from TEXT,
  created_at TEXT NOT NULL,
  CHECK ((kind = 'owner') = (agent_b IS NULL)),
  CHECK (agent_b IS NULL OR agent_a < agent_b)
) STRICT;
CREATE UNIQUE INDEX conversations_one_a_pair ON conversations (agent_a, agent_b) WHERE kind = 'peer';
CREATE UNIQUE INDEX conversations_one_an_owner ON conversations (agent_a) WHERE kind = 'owner';
CREATE INDEX conversations_by_project ON conversations (project_id, id);
CREATE INDEX conversations_by_first_agent ON conversations (agent_a, id);
CREATE INDEX conversations_by_second_agent ON conversations (agent_b, id) WHERE agent_b IS NOT NULL;
`
