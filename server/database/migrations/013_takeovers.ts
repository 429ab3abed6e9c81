/**
 * Session challenges and takeover grants, stored as hashes.
 *
 * The start of a device-bound session uses one challenge, which then is invalid. An agent has at most one
 * open grant. A new grant replaces the old one.
 */
export const sql = `
CREATE TABLE challenges (
  challenge_sha256 BLOB PRIMARY KEY,
  credential_id TEXT NOT NULL REFERENCES credentials (id),
  device TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_by_expiry ON challenges (expires_at);
CREATE INDEX challenges_by_credential ON challenges (credential_id);
CREATE TABLE takeovers (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  grant_sha256 BLOB NOT NULL,
  expires_at TEXT NOT NULL,
  fenced_session_id TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX takeovers_by_expiry ON takeovers (expires_at);
`
