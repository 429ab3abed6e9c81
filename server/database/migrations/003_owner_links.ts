/** One-time links, stored as hashes: set-up, and sign-in from the host. */
export const sql = `
CREATE TABLE owner_links (
  token_sha256 BLOB PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'sign_in')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_at TEXT,
  user_id TEXT REFERENCES owner_users (id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_links_by_user ON owner_links (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX owner_links_by_expiry ON owner_links (expires_at);
`
