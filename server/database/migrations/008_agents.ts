/** Agents. `session_generation` only rises, also when sessions end. */
export const sql = `
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  environment_id TEXT REFERENCES environments (id),
  name TEXT NOT NULL,
  role_name TEXT NOT NULL,
  description TEXT NOT NULL,
  prompt_template TEXT NOT NULL,
  instructions TEXT NOT NULL,
  instructions_updated_at TEXT,
  state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
  session_generation INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;
CREATE INDEX agents_by_project ON agents (project_id, id);
CREATE INDEX agents_by_environment ON agents (environment_id) WHERE environment_id IS NOT NULL;
`
