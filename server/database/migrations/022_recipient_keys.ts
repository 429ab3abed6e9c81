/** Recipient keys: one trusted age key per agent. */
export const sql = `
CREATE TABLE recipient_keys (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  recipient TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  registered_at TEXT NOT NULL,
  registered_by TEXT NOT NULL CHECK (registered_by IN ('agent', 'owner'))
) STRICT, WITHOUT ROWID;
`
