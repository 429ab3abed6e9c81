/** Used nonces, and the floor under which every proof is refused for ever. */
export const sql = `
CREATE TABLE nonces (
  credential_id TEXT NOT NULL,
  nonce BLOB NOT NULL,
  signed_at INTEGER NOT NULL,
  PRIMARY KEY (credential_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX nonces_by_time ON nonces (signed_at);
CREATE TABLE replay_floor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  floor INTEGER NOT NULL
) STRICT;
`
