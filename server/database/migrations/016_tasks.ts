/**
 * Tasks, and the reasons given when claims were released.
 *
 * - The columns `claim_*` describe the last claim. `claim_ends_at` is set while the claim is held, in steady
 *   time.
 * - `ended` is the final state, and null before. A claim, a renewal and progress do not change it. So only
 *   the creation and the end of a task write to the three list indexes. Each of these ends in the rowid,
 *   which is in the order of ids.
 * - Text of the two agents is in the task, in its messages and in `task_releases`, never in the audit.
 */
export const sql = `
CREATE TABLE tasks (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  creator_kind TEXT NOT NULL CHECK (creator_kind IN ('agent', 'owner')),
  creator_agent_id TEXT REFERENCES agents (id),
  creator_name TEXT NOT NULL,
  assignee_agent_id TEXT NOT NULL REFERENCES agents (id),
  title TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN
    ('open', 'claimed', 'cancel_requested', 'completed', 'failed', 'declined', 'cancelled')),
  attempts INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  claim_ttl_seconds INTEGER NOT NULL,
  due_at TEXT,
  claim_generation INTEGER NOT NULL,
  claim_session_id TEXT,
  claim_session_generation INTEGER,
  claimed_at TEXT,
  claim_ends_at TEXT,
  claim_end TEXT CHECK (claim_end IN ('finished', 'released', 'expired')),
  cancel_requested_at TEXT,
  cancelled_by_kind TEXT CHECK (cancelled_by_kind IN ('agent', 'owner')),
  cancelled_by_agent_id TEXT,
  cancelled_by_name TEXT,
  cancel_reason TEXT,
  stop_confirmed_at TEXT,
  progress_note TEXT,
  progress_percent INTEGER,
  progress_at TEXT,
  outcome_kind TEXT CHECK (outcome_kind IN ('completed', 'failed', 'attempts_exhausted', 'declined')),
  outcome_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  instructions TEXT NOT NULL,
  outcome_result TEXT,
  outcome_evidence TEXT,
  ended TEXT CHECK (ended IS NULL OR ended = state),
  CHECK ((creator_kind = 'agent') = (creator_agent_id IS NOT NULL)),
  CHECK ((state IN ('claimed', 'cancel_requested')) = (claim_ends_at IS NOT NULL)),
  CHECK (attempts <= max_attempts)
) STRICT;
CREATE INDEX tasks_held ON tasks (claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE INDEX tasks_held_by ON tasks (assignee_agent_id, claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE INDEX tasks_by_assignee ON tasks (assignee_agent_id, ended);
CREATE INDEX tasks_by_creator ON tasks (creator_agent_id, ended) WHERE creator_agent_id IS NOT NULL;
CREATE INDEX tasks_by_project ON tasks (project_id, ended);
CREATE TABLE task_releases (
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_generation INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (task_id, claim_generation)
) STRICT, WITHOUT ROWID;
`
