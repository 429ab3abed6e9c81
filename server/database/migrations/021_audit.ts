/**
 * The audit: one record per change, written in the transaction of the change. It never holds bodies or
 * secrets.
 *
 * - Each index ends in the rowid. Records are inserted in the order of their ids, so pages of any filter are
 *   in that order. An index that ends in the id would be twice as large.
 * - `audit_by_actor` also serves a filter by actor alone. The query merges the page from all kinds of the
 *   actor's records.
 */
export const sql = `
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  project_id TEXT,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'system', 'anonymous')),
  actor_id TEXT,
  actor_name TEXT NOT NULL,
  subject_type TEXT NOT NULL,
  subject_id TEXT,
  request_id TEXT,
  details TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_project ON audit (project_id);
CREATE INDEX audit_by_actor ON audit (project_id, actor_id, kind);
CREATE INDEX audit_by_subject ON audit (subject_id) WHERE subject_id IS NOT NULL;
CREATE INDEX audit_by_kind ON audit (project_id, kind);
`
