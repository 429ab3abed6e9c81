/**
 * Why claims were given back. Words of the two sides stand in the task and its messages, never in the audit, which kept them
 * until now.
 */
export const sql = `
CREATE TABLE task_releases (
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_generation INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (task_id, claim_generation)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO task_releases (task_id, claim_generation, reason)
  SELECT tasks.id, details ->> 'claim_generation', details ->> 'reason'
    FROM audit JOIN tasks ON tasks.id = audit.subject_id
    WHERE kind = 'task.released' AND details ->> 'reason' IS NOT NULL;
UPDATE audit SET details = json_remove(details, '$.reason')
  WHERE subject_type IN ('task', 'transfer') AND details ->> 'reason' IS NOT NULL;
`
