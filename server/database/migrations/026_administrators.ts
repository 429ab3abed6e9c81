/** Which projects an administrator may see and steer, and whom a sign-in link signs in: null is the owner. */
export const sql = `
CREATE TABLE project_administrators (
  user_id TEXT NOT NULL REFERENCES owner_users (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  created_at TEXT NOT NULL,
  PRIMARY KEY (user_id, project_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_administrators_by_project ON project_administrators (project_id, user_id);
ALTER TABLE owner_links ADD COLUMN user_id TEXT REFERENCES owner_users (id);
CREATE INDEX owner_links_by_user ON owner_links (user_id) WHERE user_id IS NOT NULL;
`
