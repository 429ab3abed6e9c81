/** One key, one outcome: the answer's bytes, written in the transaction of the effect. */
export const sql = `
CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  answer TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (principal, key, route, method)
) STRICT;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
`
