/**
 * Used nonces, and the replay floor. The node refuses each proof dated at or before the floor.
 *
 * Rows are in the order of arrival, which is nearly the order of the dates. A purge finds the oldest by
 * rowid, so a request writes no index by date.
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
