/** Deleting a project: marked at once, removed row by row; what refers to a row that goes is found by index. */
export const sql = `
ALTER TABLE projects ADD COLUMN deleted_at TEXT;
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;
ALTER TABLE idempotency ADD COLUMN project_id TEXT;
CREATE INDEX idempotency_by_project ON idempotency (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX agents_by_environment ON agents (environment_id) WHERE environment_id IS NOT NULL;
CREATE INDEX enrollments_by_credential ON enrollments (credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX challenges_by_credential ON challenges (credential_id);
`
