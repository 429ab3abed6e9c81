/** Sessions. The unique index allows one active session per agent. */
export const sql = `
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  credential_id TEXT NOT NULL REFERENCES credentials (id),
  instance_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'fenced', 'closed')),
  client_name TEXT NOT NULL,
  client_version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  last_contact_at TEXT NOT NULL,
  ended_at TEXT,
  replaced_session_id TEXT,
  contact_mode TEXT CHECK (contact_mode IN ('short_poll', 'checkpoint')),
  contact_interval_seconds INTEGER,
  grant_sha256 BLOB,
  UNIQUE (agent_id, generation)
) STRICT;
CREATE UNIQUE INDEX sessions_one_active ON sessions (agent_id) WHERE state = 'active';
CREATE INDEX sessions_by_credential ON sessions (credential_id, state);
`
