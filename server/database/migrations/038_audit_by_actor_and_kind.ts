/**
 * The audit by actor and kind together, and by every kind: a page costs what it shows, whatever else is recorded. By actor
 * alone it is merged from the actor's kinds, so that no record pays for another index.
 */
export const sql = `
DROP INDEX audit_by_actor;
DROP INDEX audit_by_kind;
CREATE INDEX audit_by_actor ON audit (project_id, actor_id, kind, id);
CREATE INDEX audit_by_kind ON audit (project_id, kind, id);
`
