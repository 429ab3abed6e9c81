/** The projects that each administrator may see and steer. */
export const sql = `
CREATE TABLE project_administrators (
  user_id TEXT NOT NULL REFERENCES owner_users (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  created_at TEXT NOT NULL,
  PRIMARY KEY (user_id, project_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_administrators_by_project ON project_administrators (project_id, user_id);
`
