/**
 * Projects. Each row of an agent belongs to one project. A deletion marks the project, then removes its rows
 * in batches.
 */
export const sql = `
CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'archived')),
  idle_seconds INTEGER,
  empty_polls INTEGER,
  message_budget INTEGER,
  retention_days INTEGER,
  audit_days INTEGER,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  deleted_at TEXT
) STRICT;
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;
`
