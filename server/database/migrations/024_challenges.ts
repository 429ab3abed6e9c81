/** Session challenges, only as hashes: each is used up by one start of a device-bound session. */
export const sql = `
CREATE TABLE challenges (
  challenge_sha256 BLOB PRIMARY KEY,
  credential_id TEXT NOT NULL REFERENCES credentials (id),
  device TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_by_expiry ON challenges (expires_at);
`
