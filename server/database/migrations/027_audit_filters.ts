/**
 * Reading the audit by actor, subject or kind without passing over the rest of it. The two kinds that most records
 * have are left out of the third: their pages are dense without it, and sending pays for no index more.
 */
export const sql = `
CREATE INDEX audit_by_actor ON audit (project_id, actor_id, id);
CREATE INDEX audit_by_subject ON audit (project_id, subject_id, id);
CREATE INDEX audit_by_kind ON audit (project_id, kind, id) WHERE kind NOT IN ('message.sent', 'message.acknowledged');
`
