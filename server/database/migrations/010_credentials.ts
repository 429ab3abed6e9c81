/** Credentials. The table holds only public keys and hashes, so a thief of the file cannot sign requests. */
export const sql = `
CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  binding TEXT NOT NULL CHECK (binding IN ('key', 'device', 'legacy')),
  public_key TEXT,
  device TEXT,
  secret_sha256 BLOB,
  scopes TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  last_used_at TEXT,
  CHECK ((binding = 'legacy') = (secret_sha256 IS NOT NULL)),
  CHECK ((binding = 'legacy') = (public_key IS NULL)),
  CHECK ((binding = 'device') = (device IS NOT NULL))
) STRICT;
CREATE INDEX credentials_by_project ON credentials (project_id, id);
CREATE INDEX credentials_by_agent ON credentials (agent_id);
`
