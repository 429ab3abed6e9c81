/**
 * Stored answers to requests with an Idempotency-Key. An answer is written in the transaction of the
 * request's effect.
 *
 * They are removed in the order of their rowids, so the oldest first.
 */
export const sql = `
CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  answer TEXT NOT NULL,
  created_at TEXT NOT NULL,
  project_id TEXT,
  PRIMARY KEY (principal, key, route, method)
) STRICT;
CREATE INDEX idempotency_by_project ON idempotency (project_id) WHERE project_id IS NOT NULL;
`
