/**
 * Owner sessions. Each request looks up the hash of its token, so ending a session takes effect immediately.
 */
export const sql = `
CREATE TABLE owner_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES owner_users (id),
  token_sha256 BLOB NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  fresh_until TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX owner_sessions_by_user ON owner_sessions (user_id, id);
CREATE INDEX owner_sessions_by_expiry ON owner_sessions (expires_at);
`
