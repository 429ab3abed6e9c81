/**
 * Nonces in the order in which they came, which is nearly that of their dates: so the oldest are found without an index
 * by date, of which every request wrote another page.
 */
export const sql = `
ALTER TABLE nonces RENAME TO nonces_by_credential;
DROP INDEX nonces_by_time;
CREATE TABLE nonces (
  credential_id TEXT NOT NULL,
  nonce BLOB NOT NULL,
  signed_at INTEGER NOT NULL,
  UNIQUE (credential_id, nonce)
) STRICT;
INSERT INTO nonces SELECT credential_id, nonce, signed_at FROM nonces_by_credential ORDER BY signed_at;
DROP TABLE nonces_by_credential;
`
