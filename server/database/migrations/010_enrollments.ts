/** Enrolments: the code only as a hash; expiry is read from the clock, not stored as a state. */
export const sql = `
CREATE TABLE enrollments (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  code_sha256 BLOB NOT NULL UNIQUE,
  binding TEXT NOT NULL CHECK (binding IN ('key', 'device')),
  scopes TEXT NOT NULL,
  keep_existing INTEGER NOT NULL CHECK (keep_existing IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'revoked')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  claimed_at TEXT,
  credential_id TEXT REFERENCES credentials (id)
) STRICT;
CREATE INDEX enrollments_by_agent ON enrollments (agent_id, state);
CREATE INDEX enrollments_by_project ON enrollments (project_id, id);
`
