/** Environments: where agents run. */
export const sql = `
CREATE TABLE environments (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('laptop', 'server', 'container', 'ci', 'other')),
  description TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;
CREATE INDEX environments_by_project ON environments (project_id, id);
`
