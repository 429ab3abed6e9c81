/** One-time links, only as hashes: set-up, and sign-in from the host. */
export const sql = `
CREATE TABLE owner_links (
  token_sha256 BLOB PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'sign_in')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_at TEXT
) STRICT, WITHOUT ROWID;
`
