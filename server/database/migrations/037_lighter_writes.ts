/**
 * Fewer index entries for each mutation.
 *
 * Tasks: `ended` is the final state, null while there is none. Claiming, renewing and progress leave it alone, so that of
 * these lists only creation and end write anything. The claims that are held are found by their end.
 * Stored answers are removed in the order of their rowid, which is that of their age.
 */
export const sql = `
ALTER TABLE tasks ADD COLUMN ended TEXT CHECK (ended IS NULL OR ended = state);
UPDATE tasks SET ended = state WHERE state NOT IN ('open', 'claimed', 'cancel_requested');
DROP INDEX tasks_by_assignee;
DROP INDEX tasks_by_assignee_state;
DROP INDEX tasks_by_creator;
DROP INDEX tasks_by_creator_state;
DROP INDEX tasks_by_project;
DROP INDEX tasks_by_project_state;
DROP INDEX tasks_held_by;
CREATE INDEX tasks_by_assignee ON tasks (assignee_agent_id, ended, id);
CREATE INDEX tasks_by_creator ON tasks (creator_agent_id, ended, id) WHERE creator_agent_id IS NOT NULL;
CREATE INDEX tasks_by_project ON tasks (project_id, ended, id);
CREATE INDEX tasks_held_by ON tasks (assignee_agent_id, claim_ends_at) WHERE claim_ends_at IS NOT NULL;
DROP INDEX idempotency_by_age;
`
