/** Endpoint and token of a helper, sealed with the envelope key; gone with its expiry or the end of its transfer. */
export const sql = `
CREATE TABLE transfer_secrets (
  transfer_id TEXT PRIMARY KEY REFERENCES transfers (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  deposited_by TEXT NOT NULL,
  sealed BLOB NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX transfer_secrets_by_expiry ON transfer_secrets (expires_at);
CREATE INDEX transfer_secrets_by_project ON transfer_secrets (project_id);
`
