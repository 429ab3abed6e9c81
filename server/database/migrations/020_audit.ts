/** The audit: one record per mutation, in its transaction. Never bodies, never secrets. */
export const sql = `
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  project_id TEXT,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'system', 'anonymous')),
  actor_id TEXT,
  actor_name TEXT NOT NULL,
  subject_type TEXT NOT NULL,
  subject_id TEXT,
  request_id TEXT,
  details TEXT NOT NULL
) STRICT;
`
