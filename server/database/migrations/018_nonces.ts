/**
 * Used nonces; and the floor: every proof dated at or before it is refused.
 *
 * Nonces lie in the order in which they arrived, which is nearly that of their dates. The oldest are found by rowid, so a
 * request writes no index by date.
 */
export const sql = `
CREATE TABLE nonces (
  credential_id TEXT NOT NULL,
  nonce BLOB NOT NULL,
  signed_at INTEGER NOT NULL,
  UNIQUE (credential_id, nonce)
) STRICT;
CREATE TABLE replay_floor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  floor INTEGER NOT NULL
) STRICT;
`
