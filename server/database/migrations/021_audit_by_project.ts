/** The audit of one project, newest last. */
export const sql = `
CREATE INDEX audit_by_project ON audit (project_id, id);
`
