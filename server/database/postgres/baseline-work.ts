/** The second part of `baseline.ts`: conversations, messages, tasks, transfers, and the tables of the node. */
export const baseline = `
CREATE TABLE conversations (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('peer', 'owner')),
  agent_a text COLLATE "C" NOT NULL REFERENCES agents (id),
  agent_b text COLLATE "C" REFERENCES agents (id),
  last_sequence bigint NOT NULL,
  removed_through_sequence bigint NOT NULL,
  budget_from text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  CHECK ((kind = 'owner') = (agent_b IS NULL)),
  CHECK (agent_b IS NULL OR agent_a < agent_b)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX conversations_one_a_pair ON conversations (agent_a, agent_b) WHERE kind = 'peer';
CREATE UNIQUE INDEX conversations_one_an_owner ON conversations (agent_a) WHERE kind = 'owner';
CREATE INDEX conversations_by_project ON conversations (project_id, id);
CREATE INDEX conversations_by_first_agent ON conversations (agent_a, id);
CREATE INDEX conversations_by_second_agent ON conversations (agent_b, id) WHERE agent_b IS NOT NULL;
CREATE TABLE messages (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL,
  conversation_id text COLLATE "C" NOT NULL REFERENCES conversations (id),
  sequence bigint NOT NULL,
  sender_kind text COLLATE "C" NOT NULL CHECK (sender_kind IN ('agent', 'owner', 'system')),
  sender_agent_id text COLLATE "C",
  sender_name text COLLATE "C" NOT NULL,
  recipient_kind text COLLATE "C" NOT NULL CHECK (recipient_kind IN ('agent', 'owner')),
  recipient_agent_id text COLLATE "C" NOT NULL,
  inbox_agent_id text COLLATE "C",
  type text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  encoding text COLLATE "C" NOT NULL CHECK (encoding IN ('text', 'age')),
  in_reply_to text COLLATE "C",
  root_id text COLLATE "C" NOT NULL,
  hops bigint NOT NULL,
  task_id text COLLATE "C",
  transfer_id text COLLATE "C",
  expects_reply_by text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  offers bigint NOT NULL,
  offered_generation bigint NOT NULL,
  first_offered_at text COLLATE "C",
  last_offered_at text COLLATE "C",
  acknowledged_at text COLLATE "C",
  answered_at text COLLATE "C",
  UNIQUE (conversation_id, sequence),
  CHECK ((recipient_kind = 'owner') = (inbox_agent_id IS NULL))
);
CREATE INDEX messages_to_owner ON messages (project_id, type, id)
  WHERE recipient_kind = 'owner' AND acknowledged_at IS NULL;
CREATE INDEX messages_owner_replies ON messages (in_reply_to)
  WHERE sender_kind = 'owner' AND in_reply_to IS NOT NULL;
CREATE INDEX messages_due ON messages (inbox_agent_id, offered_generation, last_offered_at)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL AND last_offered_at IS NOT NULL;
CREATE INDEX messages_fresh ON messages (inbox_agent_id, offered_generation, id)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL;
CREATE INDEX messages_awaited ON messages (project_id, expects_reply_by, id)
  WHERE type = 'question' AND sender_kind = 'agent' AND recipient_kind = 'agent'
    AND expects_reply_by IS NOT NULL AND answered_at IS NULL;
CREATE TABLE inboxes (
  agent_id text COLLATE "C" PRIMARY KEY REFERENCES agents (id),
  waiting bigint NOT NULL CHECK (waiting >= 0)
) WITH (fillfactor = 60);
CREATE TABLE tasks (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  conversation_id text COLLATE "C" NOT NULL REFERENCES conversations (id),
  creator_kind text COLLATE "C" NOT NULL CHECK (creator_kind IN ('agent', 'owner')),
  creator_agent_id text COLLATE "C" REFERENCES agents (id),
  creator_name text COLLATE "C" NOT NULL,
  assignee_agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  title text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN
    ('open', 'claimed', 'cancel_requested', 'completed', 'failed', 'declined', 'cancelled')),
  attempts bigint NOT NULL,
  max_attempts bigint NOT NULL,
  claim_ttl_seconds bigint NOT NULL,
  due_at text COLLATE "C",
  claim_generation bigint NOT NULL,
  claim_session_id text COLLATE "C",
  claim_session_generation bigint,
  claimed_at text COLLATE "C",
  claim_ends_at text COLLATE "C",
  claim_end text COLLATE "C" CHECK (claim_end IN ('finished', 'released', 'expired')),
  cancel_requested_at text COLLATE "C",
  cancelled_by_kind text COLLATE "C" CHECK (cancelled_by_kind IN ('agent', 'owner')),
  cancelled_by_agent_id text COLLATE "C",
  cancelled_by_name text COLLATE "C",
  cancel_reason text COLLATE "C",
  stop_confirmed_at text COLLATE "C",
  progress_note text COLLATE "C",
  progress_percent bigint,
  progress_at text COLLATE "C",
  outcome_kind text COLLATE "C" CHECK (outcome_kind IN ('completed', 'failed', 'attempts_exhausted', 'declined')),
  outcome_at text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  instructions text COLLATE "C" NOT NULL,
  outcome_result text COLLATE "C",
  outcome_evidence text COLLATE "C",
  ended text COLLATE "C" CHECK (ended IS NULL OR ended = state),
  claim_own_ttl_seconds bigint,
  CHECK ((creator_kind = 'agent') = (creator_agent_id IS NOT NULL)),
  CHECK ((state IN ('claimed', 'cancel_requested')) = (claim_ends_at IS NOT NULL)),
  CHECK (attempts <= max_attempts)
);
CREATE INDEX tasks_held ON tasks (claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE INDEX tasks_held_by ON tasks (assignee_agent_id, claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE INDEX tasks_by_assignee ON tasks (assignee_agent_id, ended, id);
CREATE INDEX tasks_by_creator ON tasks (creator_agent_id, ended, id) WHERE creator_agent_id IS NOT NULL;
CREATE INDEX tasks_by_project ON tasks (project_id, ended, id);
CREATE TABLE task_releases (
  task_id text COLLATE "C" NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_generation bigint NOT NULL,
  reason text COLLATE "C" NOT NULL,
  PRIMARY KEY (task_id, claim_generation)
);
CREATE TABLE transfers (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  conversation_id text COLLATE "C" NOT NULL REFERENCES conversations (id),
  sender_agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  recipient_agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  filename text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL CHECK (mode IN ('package', 'direct')),
  encryption text COLLATE "C" NOT NULL CHECK (encryption IN ('none', 'age')),
  state text COLLATE "C" NOT NULL CHECK (state IN
    ('offered', 'accepted', 'verified', 'declined', 'failed', 'cancelled', 'expired')),
  expires_at text COLLATE "C" NOT NULL,
  ends_at text COLLATE "C",
  reserved_bytes bigint NOT NULL,
  stored_parts bigint NOT NULL,
  stored_at text COLLATE "C",
  removed_at text COLLATE "C",
  receipt_at text COLLATE "C",
  cleanup_sender_at text COLLATE "C",
  cleanup_recipient_at text COLLATE "C",
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  parts text COLLATE "C" NOT NULL,
  CHECK ((state IN ('offered', 'accepted')) = (ends_at IS NOT NULL)),
  CHECK ((state = 'verified') = (receipt_at IS NOT NULL))
);
CREATE INDEX transfers_by_sender ON transfers (sender_agent_id, id);
CREATE INDEX transfers_by_sender_state ON transfers (sender_agent_id, state, id);
CREATE INDEX transfers_by_recipient ON transfers (recipient_agent_id, id);
CREATE INDEX transfers_by_recipient_state ON transfers (recipient_agent_id, state, id);
CREATE INDEX transfers_by_project ON transfers (project_id, id);
CREATE INDEX transfers_by_project_state ON transfers (project_id, state, id);
CREATE INDEX transfers_by_conversation_open ON transfers (conversation_id, id) WHERE ends_at IS NOT NULL;
CREATE INDEX transfers_open ON transfers (ends_at) WHERE ends_at IS NOT NULL;
CREATE INDEX transfers_unremoved ON transfers (id)
  WHERE mode = 'package' AND ends_at IS NULL AND removed_at IS NULL;
CREATE INDEX transfers_reserved ON transfers (sender_agent_id, reserved_bytes) WHERE reserved_bytes > 0;
CREATE TABLE transfer_secrets (
  transfer_id text COLLATE "C" PRIMARY KEY REFERENCES transfers (id),
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  deposited_by text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  expires_at text COLLATE "C" NOT NULL
);
CREATE INDEX transfer_secrets_by_expiry ON transfer_secrets (expires_at);
CREATE INDEX transfer_secrets_by_project ON transfer_secrets (project_id);
CREATE TABLE nonces (
  credential_id text COLLATE "C" NOT NULL,
  nonce bytea NOT NULL,
  signed_at bigint NOT NULL,
  UNIQUE (credential_id, nonce)
);
CREATE INDEX nonces_by_date ON nonces (signed_at);
CREATE TABLE replay_floor (
  one bigint PRIMARY KEY CHECK (one = 1),
  floor bigint NOT NULL
);
CREATE TABLE idempotency (
  principal text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  route text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  answer text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  project_id text COLLATE "C",
  arrival bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (principal, key, route, method)
);
CREATE INDEX idempotency_by_arrival ON idempotency (arrival);
CREATE INDEX idempotency_by_project ON idempotency (project_id) WHERE project_id IS NOT NULL;
CREATE TABLE telemetry_token (
  one bigint PRIMARY KEY CHECK (one = 1),
  token_sha256 bytea NOT NULL,
  created_at text COLLATE "C" NOT NULL
);
CREATE TABLE telemetry_hosts (
  host text COLLATE "C" PRIMARY KEY,
  sampled_at text COLLATE "C" NOT NULL,
  cpu_percent double precision NOT NULL,
  memory_used_bytes bigint NOT NULL,
  memory_total_bytes bigint NOT NULL,
  received_at text COLLATE "C" NOT NULL
);
CREATE TABLE audit (
  id text COLLATE "C" PRIMARY KEY,
  at text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  project_id text COLLATE "C",
  actor_kind text COLLATE "C" NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'system', 'anonymous')),
  actor_id text COLLATE "C",
  actor_name text COLLATE "C" NOT NULL,
  subject_type text COLLATE "C" NOT NULL,
  subject_id text COLLATE "C",
  request_id text COLLATE "C",
  details text COLLATE "C" NOT NULL
);
CREATE INDEX audit_by_project ON audit (project_id, id);
CREATE INDEX audit_by_actor ON audit (project_id, actor_id, kind, id);
CREATE INDEX audit_by_subject ON audit (subject_id, id) WHERE subject_id IS NOT NULL;
CREATE INDEX audit_by_kind ON audit (project_id, kind, id);
CREATE TABLE recipient_keys (
  agent_id text COLLATE "C" PRIMARY KEY REFERENCES agents (id),
  recipient text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  registered_at text COLLATE "C" NOT NULL,
  registered_by text COLLATE "C" NOT NULL CHECK (registered_by IN ('agent', 'owner'))
);
CREATE TABLE lanes (
  lane text COLLATE "C" PRIMARY KEY,
  last text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE nodes (
  id text COLLATE "C" PRIMARY KEY,
  machine text COLLATE "C" NOT NULL,
  pid bigint NOT NULL,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
);
INSERT INTO lanes (lane, last) VALUES ('node', '');
`
