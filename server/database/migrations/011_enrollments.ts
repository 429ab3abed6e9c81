/**
 * Enrolments. The code is stored as a hash. Expiry is no state: readers compare `expires_at` with the clock.
 */
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
CREATE INDEX enrollments_by_credential ON enrollments (credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX enrollments_by_expiry ON enrollments (expires_at);
CREATE INDEX enrollments_pending ON enrollments (project_id, expires_at) WHERE state = 'pending';
`
