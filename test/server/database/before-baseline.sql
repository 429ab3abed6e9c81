-- A database that the 47 migrations before the baseline made, written out by a server of that time (commit df21b24).
-- In it ada and ben have talked, ben holds a claim and gave one back, and ada offers a file.
CREATE TABLE schema_migrations (
      number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL
    ) STRICT;
CREATE TABLE server (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  server_id TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE owner_users (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL CHECK (role IN ('owner', 'administrator')),
  password TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX owner_users_one_owner ON owner_users (role) WHERE role = 'owner';
CREATE TABLE owner_links (
  token_sha256 BLOB PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('setup', 'sign_in')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  used_at TEXT
, user_id TEXT REFERENCES owner_users (id)) STRICT, WITHOUT ROWID;
CREATE TABLE owner_sessions (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES owner_users (id),
  token_sha256 BLOB NOT NULL UNIQUE,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  fresh_until TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  ended_at TEXT
) STRICT;
CREATE INDEX owner_sessions_by_user ON owner_sessions (user_id, id);
CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'archived')),
  idle_seconds INTEGER,
  empty_polls INTEGER,
  message_budget INTEGER,
  retention_days INTEGER,
  audit_days INTEGER,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
, deleted_at TEXT) STRICT;
CREATE TABLE environments (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('laptop', 'server', 'container', 'ci', 'other')),
  description TEXT NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;
CREATE INDEX environments_by_project ON environments (project_id, id);
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  environment_id TEXT REFERENCES environments (id),
  name TEXT NOT NULL,
  role_name TEXT NOT NULL,
  description TEXT NOT NULL,
  prompt_template TEXT NOT NULL,
  instructions TEXT NOT NULL,
  instructions_updated_at TEXT,
  state TEXT NOT NULL CHECK (state IN ('enabled', 'disabled')),
  session_generation INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  UNIQUE (project_id, name)
) STRICT;
CREATE INDEX agents_by_project ON agents (project_id, id);
CREATE TABLE pairings (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_a TEXT NOT NULL REFERENCES agents (id),
  agent_b TEXT NOT NULL REFERENCES agents (id),
  enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
  updated_at TEXT NOT NULL,
  UNIQUE (agent_a, agent_b),
  CHECK (agent_a < agent_b)
) STRICT;
CREATE INDEX pairings_by_project ON pairings (project_id, id);
CREATE INDEX pairings_by_second_agent ON pairings (agent_b);
CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  binding TEXT NOT NULL CHECK (binding IN ('key', 'device', 'legacy')),
  public_key TEXT,
  device TEXT,
  secret_sha256 BLOB,
  scopes TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  revoked_at TEXT,
  last_used_at TEXT,
  CHECK ((binding = 'legacy') = (secret_sha256 IS NOT NULL)),
  CHECK ((binding = 'legacy') = (public_key IS NULL)),
  CHECK ((binding = 'device') = (device IS NOT NULL))
) STRICT;
CREATE INDEX credentials_by_project ON credentials (project_id, id);
CREATE INDEX credentials_by_agent ON credentials (agent_id);
CREATE TABLE enrollments (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  code_sha256 BLOB NOT NULL UNIQUE,
  binding TEXT NOT NULL CHECK (binding IN ('key', 'device')),
  scopes TEXT NOT NULL,
  keep_existing INTEGER NOT NULL CHECK (keep_existing IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('pending', 'claimed', 'revoked')),
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  claimed_at TEXT,
  credential_id TEXT REFERENCES credentials (id)
) STRICT;
CREATE INDEX enrollments_by_agent ON enrollments (agent_id, state);
CREATE INDEX enrollments_by_project ON enrollments (project_id, id);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  credential_id TEXT NOT NULL REFERENCES credentials (id),
  instance_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'fenced', 'closed')),
  client_name TEXT NOT NULL,
  client_version TEXT NOT NULL,
  started_at TEXT NOT NULL,
  last_contact_at TEXT NOT NULL,
  ended_at TEXT,
  replaced_session_id TEXT, contact_mode TEXT CHECK (contact_mode IN ('short_poll', 'checkpoint')), contact_interval_seconds INTEGER, grant_sha256 BLOB,
  UNIQUE (agent_id, generation)
) STRICT;
CREATE UNIQUE INDEX sessions_one_active ON sessions (agent_id) WHERE state = 'active';
CREATE INDEX sessions_by_credential ON sessions (credential_id, state);
CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  kind TEXT NOT NULL CHECK (kind IN ('peer', 'owner')),
  agent_a TEXT NOT NULL REFERENCES agents (id),
  agent_b TEXT REFERENCES agents (id),
  last_sequence INTEGER NOT NULL,
  removed_through_sequence INTEGER NOT NULL,
  budget_from TEXT,
  created_at TEXT NOT NULL,
  CHECK ((kind = 'owner') = (agent_b IS NULL)),
  CHECK (agent_b IS NULL OR agent_a < agent_b)
) STRICT;
CREATE UNIQUE INDEX conversations_one_a_pair ON conversations (agent_a, agent_b) WHERE kind = 'peer';
CREATE UNIQUE INDEX conversations_one_an_owner ON conversations (agent_a) WHERE kind = 'owner';
CREATE INDEX conversations_by_project ON conversations (project_id, id);
CREATE INDEX conversations_by_first_agent ON conversations (agent_a, id);
CREATE INDEX conversations_by_second_agent ON conversations (agent_b, id) WHERE agent_b IS NOT NULL;
CREATE TABLE messages (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  sequence INTEGER NOT NULL,
  sender_kind TEXT NOT NULL CHECK (sender_kind IN ('agent', 'owner', 'system')),
  sender_agent_id TEXT,
  sender_name TEXT NOT NULL,
  recipient_kind TEXT NOT NULL CHECK (recipient_kind IN ('agent', 'owner')),
  recipient_agent_id TEXT NOT NULL,
  inbox_agent_id TEXT,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  encoding TEXT NOT NULL CHECK (encoding IN ('text', 'age')),
  in_reply_to TEXT,
  root_id TEXT NOT NULL,
  hops INTEGER NOT NULL,
  task_id TEXT,
  transfer_id TEXT,
  expects_reply_by TEXT,
  created_at TEXT NOT NULL,
  offers INTEGER NOT NULL,
  offered_generation INTEGER NOT NULL,
  first_offered_at TEXT,
  last_offered_at TEXT,
  acknowledged_at TEXT, answered_at TEXT,
  UNIQUE (conversation_id, sequence),
  CHECK ((recipient_kind = 'owner') = (inbox_agent_id IS NULL))
) STRICT;
CREATE TABLE inboxes (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  waiting INTEGER NOT NULL CHECK (waiting >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE replay_floor (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  floor INTEGER NOT NULL
) STRICT;
CREATE TABLE idempotency (
  principal TEXT NOT NULL,
  method TEXT NOT NULL,
  route TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint BLOB NOT NULL,
  answer TEXT NOT NULL,
  created_at TEXT NOT NULL, project_id TEXT,
  PRIMARY KEY (principal, key, route, method)
) STRICT;
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,
  project_id TEXT,
  actor_kind TEXT NOT NULL CHECK (actor_kind IN ('agent', 'owner', 'system', 'anonymous')),
  actor_id TEXT,
  actor_name TEXT NOT NULL,
  subject_type TEXT NOT NULL,
  subject_id TEXT,
  request_id TEXT,
  details TEXT NOT NULL
) STRICT;
CREATE TABLE recipient_keys (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  recipient TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  registered_at TEXT NOT NULL,
  registered_by TEXT NOT NULL CHECK (registered_by IN ('agent', 'owner'))
) STRICT, WITHOUT ROWID;
CREATE TABLE challenges (
  challenge_sha256 BLOB PRIMARY KEY,
  credential_id TEXT NOT NULL REFERENCES credentials (id),
  device TEXT NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX challenges_by_expiry ON challenges (expires_at);
CREATE TABLE takeovers (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  grant_sha256 BLOB NOT NULL,
  expires_at TEXT NOT NULL
, fenced_session_id TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE project_administrators (
  user_id TEXT NOT NULL REFERENCES owner_users (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  created_at TEXT NOT NULL,
  PRIMARY KEY (user_id, project_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_administrators_by_project ON project_administrators (project_id, user_id);
CREATE INDEX owner_links_by_user ON owner_links (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX idempotency_by_project ON idempotency (project_id) WHERE project_id IS NOT NULL;
CREATE INDEX agents_by_environment ON agents (environment_id) WHERE environment_id IS NOT NULL;
CREATE INDEX enrollments_by_credential ON enrollments (credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX challenges_by_credential ON challenges (credential_id);
CREATE TABLE maintenance (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  looked_at TEXT NOT NULL
) STRICT;
CREATE INDEX enrollments_by_expiry ON enrollments (expires_at);
CREATE INDEX takeovers_by_expiry ON takeovers (expires_at);
CREATE INDEX owner_links_by_expiry ON owner_links (expires_at);
CREATE INDEX owner_sessions_by_expiry ON owner_sessions (expires_at);
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
  outcome_evidence TEXT, ended TEXT CHECK (ended IS NULL OR ended = state),
  CHECK ((creator_kind = 'agent') = (creator_agent_id IS NOT NULL)),
  CHECK ((state IN ('claimed', 'cancel_requested')) = (claim_ends_at IS NOT NULL)),
  CHECK (attempts <= max_attempts)
) STRICT;
CREATE INDEX tasks_held ON tasks (claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE INDEX messages_to_owner ON messages (project_id, type, id)
  WHERE recipient_kind = 'owner' AND acknowledged_at IS NULL;
CREATE INDEX messages_owner_replies ON messages (in_reply_to)
  WHERE sender_kind = 'owner' AND in_reply_to IS NOT NULL;
CREATE INDEX enrollments_pending ON enrollments (project_id, expires_at) WHERE state = 'pending';
CREATE INDEX messages_due ON messages (inbox_agent_id, offered_generation, last_offered_at)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL AND last_offered_at IS NOT NULL;
CREATE TABLE telemetry_token (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  token_sha256 BLOB NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE telemetry_hosts (
  host TEXT PRIMARY KEY,
  sampled_at TEXT NOT NULL,
  cpu_percent REAL NOT NULL,
  memory_used_bytes INTEGER NOT NULL,
  memory_total_bytes INTEGER NOT NULL,
  received_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE transfers (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  sender_agent_id TEXT NOT NULL REFERENCES agents (id),
  recipient_agent_id TEXT NOT NULL REFERENCES agents (id),
  filename TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('package', 'direct')),
  encryption TEXT NOT NULL CHECK (encryption IN ('none', 'age')),
  state TEXT NOT NULL CHECK (state IN
    ('offered', 'accepted', 'verified', 'declined', 'failed', 'cancelled', 'expired')),
  expires_at TEXT NOT NULL,
  ends_at TEXT,
  reserved_bytes INTEGER NOT NULL,
  stored_parts INTEGER NOT NULL,
  stored_at TEXT,
  removed_at TEXT,
  receipt_at TEXT,
  cleanup_sender_at TEXT,
  cleanup_recipient_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  parts TEXT NOT NULL,
  CHECK ((state IN ('offered', 'accepted')) = (ends_at IS NOT NULL)),
  CHECK ((state = 'verified') = (receipt_at IS NOT NULL))
) STRICT;
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
CREATE TABLE transfer_secrets (
  transfer_id TEXT PRIMARY KEY REFERENCES transfers (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  deposited_by TEXT NOT NULL,
  sealed BLOB NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX transfer_secrets_by_expiry ON transfer_secrets (expires_at);
CREATE INDEX transfer_secrets_by_project ON transfer_secrets (project_id);
CREATE INDEX tasks_held_by ON tasks (assignee_agent_id, claim_ends_at) WHERE claim_ends_at IS NOT NULL;
CREATE TABLE nonces (
  credential_id TEXT NOT NULL,
  nonce BLOB NOT NULL,
  signed_at INTEGER NOT NULL,
  UNIQUE (credential_id, nonce)
) STRICT;
CREATE TABLE task_releases (
  task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  claim_generation INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (task_id, claim_generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX transfers_reserved ON transfers (sender_agent_id, reserved_bytes) WHERE reserved_bytes > 0;
CREATE INDEX audit_by_project ON audit (project_id);
CREATE INDEX audit_by_actor ON audit (project_id, actor_id, kind);
CREATE INDEX audit_by_subject ON audit (subject_id) WHERE subject_id IS NOT NULL;
CREATE INDEX audit_by_kind ON audit (project_id, kind);
CREATE INDEX tasks_by_assignee ON tasks (assignee_agent_id, ended);
CREATE INDEX tasks_by_creator ON tasks (creator_agent_id, ended) WHERE creator_agent_id IS NOT NULL;
CREATE INDEX tasks_by_project ON tasks (project_id, ended);
CREATE INDEX messages_fresh ON messages (inbox_agent_id, offered_generation)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL;
CREATE INDEX messages_awaited ON messages (project_id, expects_reply_by)
  WHERE type = 'question' AND sender_kind = 'agent' AND recipient_kind = 'agent'
    AND expects_reply_by IS NOT NULL AND answered_at IS NULL;
CREATE TABLE steady_clock (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wall_ms INTEGER NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;
INSERT INTO schema_migrations VALUES
  (1, 'server', '2026-06-01T11:59:00.000Z'),
  (2, 'owner_users', '2026-06-01T11:59:00.000Z'),
  (3, 'owner_links', '2026-06-01T11:59:00.000Z'),
  (4, 'owner_sessions', '2026-06-01T11:59:00.000Z'),
  (5, 'projects', '2026-06-01T11:59:00.000Z'),
  (6, 'environments', '2026-06-01T11:59:00.000Z'),
  (7, 'agents', '2026-06-01T11:59:00.000Z'),
  (8, 'pairings', '2026-06-01T11:59:00.000Z'),
  (9, 'credentials', '2026-06-01T11:59:00.000Z'),
  (10, 'enrollments', '2026-06-01T11:59:00.000Z'),
  (11, 'sessions', '2026-06-01T11:59:00.000Z'),
  (12, 'conversations', '2026-06-01T11:59:00.000Z'),
  (13, 'messages', '2026-06-01T11:59:00.000Z'),
  (14, 'messages_fresh', '2026-06-01T11:59:00.000Z'),
  (15, 'messages_due', '2026-06-01T11:59:00.000Z'),
  (16, 'messages_budget', '2026-06-01T11:59:00.000Z'),
  (17, 'inboxes', '2026-06-01T11:59:00.000Z'),
  (18, 'nonces', '2026-06-01T11:59:00.000Z'),
  (19, 'idempotency', '2026-06-01T11:59:00.000Z'),
  (20, 'audit', '2026-06-01T11:59:00.000Z'),
  (21, 'audit_by_project', '2026-06-01T11:59:00.000Z'),
  (22, 'recipient_keys', '2026-06-01T11:59:00.000Z'),
  (23, 'contact_schedule', '2026-06-01T11:59:00.000Z'),
  (24, 'challenges', '2026-06-01T11:59:00.000Z'),
  (25, 'takeovers', '2026-06-01T11:59:00.000Z'),
  (26, 'administrators', '2026-06-01T11:59:00.000Z'),
  (27, 'audit_filters', '2026-06-01T11:59:00.000Z'),
  (28, 'project_deletion', '2026-06-01T11:59:00.000Z'),
  (29, 'maintenance', '2026-06-01T11:59:00.000Z'),
  (30, 'tasks', '2026-06-01T11:59:00.000Z'),
  (31, 'lease_clock', '2026-06-01T11:59:00.000Z'),
  (32, 'attention', '2026-06-01T11:59:00.000Z'),
  (33, 'messages_offered', '2026-06-01T11:59:00.000Z'),
  (34, 'telemetry', '2026-06-01T11:59:00.000Z'),
  (35, 'transfers', '2026-06-01T11:59:00.000Z'),
  (36, 'transfer_secrets', '2026-06-01T11:59:00.000Z'),
  (37, 'lighter_writes', '2026-06-01T11:59:00.000Z'),
  (38, 'audit_by_actor_and_kind', '2026-06-01T11:59:00.000Z'),
  (39, 'nonces_by_arrival', '2026-06-01T11:59:00.000Z'),
  (40, 'messages_by_number', '2026-06-01T11:59:00.000Z'),
  (41, 'task_releases', '2026-06-01T11:59:00.000Z'),
  (42, 'reserved_by_sender', '2026-06-01T11:59:00.000Z'),
  (43, 'transfer_leases', '2026-06-01T11:59:00.000Z'),
  (44, 'indexes_by_rowid', '2026-06-01T11:59:00.000Z'),
  (45, 'takeover_lineage', '2026-06-01T11:59:00.000Z'),
  (46, 'answered', '2026-06-01T11:59:00.000Z'),
  (47, 'steady_clock', '2026-06-01T11:59:00.000Z');
INSERT INTO server VALUES
  (1, '886059d5-26ca-49e1-b25c-3f5d938c3dd8', '2026-06-01T11:59:00.000Z');
INSERT INTO owner_users VALUES
  ('019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'owner', '$scrypt$ln=4,r=8,p=1$m3lN5nZkkuySjYARw/mVgg$xvMp6RzVbyokPyyeIPtYZTg8tRT2lEWxAqgEo11mXZU', 'enabled', '2026-06-01T12:00:01.161Z', '2026-06-01T12:00:01.161Z');
INSERT INTO owner_links VALUES
  (X'66AA8CA47F1DFF4306363316BCDB165BC8256CA7446395BB8267275AD4758019', 'setup', '2026-06-01T12:00:00.753Z', '2026-06-01T12:30:00.754Z', '2026-06-01T12:00:01.161Z', NULL);
INSERT INTO owner_sessions VALUES
  ('019e830e-1e89-7002-9c9e-f03784ff6f0e', '019e830e-1e89-7000-b9fa-0268ad2f24f5', X'F0F003BEA784650BCA1C31CC5F1307D374ACF7E8531B420CD050B9FB3617AB73', '2026-06-01T12:00:01.161Z', '2026-06-01T12:00:01.590Z', '2026-06-02T00:00:01.162Z', '2026-06-01T12:10:01.162Z', '', NULL);
INSERT INTO projects VALUES
  ('019e830e-1ea6-7000-b01e-9eb11fb247f8', 'demo', '', 'active', NULL, NULL, NULL, NULL, NULL, '2026-06-01T12:00:01.190Z', '2026-06-01T12:00:01.190Z', NULL);
INSERT INTO agents VALUES
  ('019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ea6-7000-b01e-9eb11fb247f8', NULL, 'ada', '', '', '', '', NULL, 'enabled', 1, '2026-06-01T12:00:01.211Z'),
  ('019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1ea6-7000-b01e-9eb11fb247f8', NULL, 'ben', '', '', '', '', NULL, 'enabled', 1, '2026-06-01T12:00:01.296Z');
INSERT INTO pairings VALUES
  ('019e830e-1f45-7002-825b-872ce8bdf0d0', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1f10-7000-a531-a41d4fd292e9', 1, '2026-06-01T12:00:01.349Z');
INSERT INTO credentials VALUES
  ('019e830e-1ef3-7000-a8fa-7c1848fb10ae', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'key', 'sqnOVzVoyQhxDEx8zEblzHkR56GavY_azZiggmfj1pA', NULL, NULL, '["messages","tasks","transfers"]', 'SHA256:iPY0wkJXEQeGQHwadAHMataR0egoMnmtIfKIMOp2W+I', '2026-06-01T12:00:01.267Z', NULL, NULL, NULL),
  ('019e830e-1f2f-7000-ab2d-eefeb8e47ce1', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f10-7000-a531-a41d4fd292e9', 'key', 'ngypcUHVzwElGwM9yoSm7H27oYiTRGrGS9gf-LlhJ_8', NULL, NULL, '["messages","tasks","transfers"]', 'SHA256:NfOGCNUrX3wgIlsHTPkIMj4nO4UlYpu14WLdF2OxEog', '2026-06-01T12:00:01.327Z', NULL, NULL, NULL);
INSERT INTO enrollments VALUES
  ('019e830e-1ed0-7000-bedd-0761198657bf', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', X'4A268475A9681C863213B35F79512B43BA92F1922DDB7BDFD19604BB36B21561', 'key', '["messages","tasks","transfers"]', 0, 'claimed', '2026-06-01T12:00:01.232Z', '2026-06-01T13:00:01.233Z', '2026-06-01T12:00:01.267Z', '019e830e-1ef3-7000-a8fa-7c1848fb10ae'),
  ('019e830e-1f24-7000-962b-01381399d7f6', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f10-7000-a531-a41d4fd292e9', X'EDEB90A62ABE8AE74A11060D948125E2A6DE4D529B59AA963C4950A05CB663DB', 'key', '["messages","tasks","transfers"]', 0, 'claimed', '2026-06-01T12:00:01.316Z', '2026-06-01T13:00:01.316Z', '2026-06-01T12:00:01.327Z', '019e830e-1f2f-7000-ab2d-eefeb8e47ce1');
INSERT INTO sessions VALUES
  ('019e830e-1f03-7000-832b-b32926c8f195', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ef3-7000-a8fa-7c1848fb10ae', 'fcb32252-318d-4a32-a283-e27a869e52ff', 1, 'active', 'test', '1', '2026-06-01T12:00:01.285Z', '2026-06-01T12:00:01.285Z', NULL, NULL, NULL, NULL, NULL),
  ('019e830e-1f45-7000-b15e-cdd50546ceb9', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f2f-7000-ab2d-eefeb8e47ce1', '00dbaa21-ebce-4b4c-bea8-4e46458da2ee', 1, 'active', 'test', '1', '2026-06-01T12:00:01.350Z', '2026-06-01T12:00:01.350Z', NULL, NULL, NULL, NULL, NULL);
INSERT INTO conversations VALUES
  ('019e830e-1f51-7000-a4da-8f940f0185a3', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'peer', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1f10-7000-a531-a41d4fd292e9', 10, 0, NULL, '2026-06-01T12:00:01.361Z'),
  ('019e830e-2036-7000-9229-0d4391c3590c', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1ebb-7000-9a9c-595b5076ddb8', NULL, 1, 0, '2026-06-01T12:00:01.590Z', '2026-06-01T12:00:01.590Z');
INSERT INTO messages VALUES
  ('019e830e-1f5f-7000-ac77-1a35c1d914ab', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 1, 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'note', 'first', 'text', NULL, '019e830e-1f5f-7000-ac77-1a35c1d914ab', 0, NULL, NULL, NULL, '2026-06-01T12:00:01.375Z', 1, 1, '2026-06-01T12:00:01.408Z', '2026-06-01T12:00:01.409Z', '2026-06-01T12:00:01.428Z', NULL),
  ('019e830e-1f6f-7000-9897-da1b621e2dbb', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 2, 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'question', 'which branch?', 'text', NULL, '019e830e-1f6f-7000-9897-da1b621e2dbb', 0, NULL, NULL, '2026-06-01T13:00:01.389Z', '2026-06-01T12:00:01.391Z', 1, 1, '2026-06-01T12:00:01.408Z', '2026-06-01T12:00:01.409Z', NULL, '2026-06-01T12:00:01.447Z'),
  ('019e830e-1f76-7000-97d8-1be818ea398e', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 3, 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'question', 'which file?', 'text', NULL, '019e830e-1f76-7000-97d8-1be818ea398e', 0, NULL, NULL, '2026-06-01T13:00:01.397Z', '2026-06-01T12:00:01.398Z', 1, 1, '2026-06-01T12:00:01.408Z', '2026-06-01T12:00:01.409Z', NULL, NULL),
  ('019e830e-1fa7-7000-9b22-33f12d851d23', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 4, 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'answer', 'main', 'text', '019e830e-1f6f-7000-9897-da1b621e2dbb', '019e830e-1f6f-7000-9897-da1b621e2dbb', 1, NULL, NULL, NULL, '2026-06-01T12:00:01.447Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-1fb3-7001-a5d7-5899666dccea', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 5, 'system', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'system', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'task', 'new task from ada: Count
bridge task show 019e830e-1fb3-7000-83e0-af66c8770154', 'text', NULL, '019e830e-1fb3-7001-a5d7-5899666dccea', 0, '019e830e-1fb3-7000-83e0-af66c8770154', NULL, NULL, '2026-06-01T12:00:01.459Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-1fcd-7000-bd11-a69341a00a62', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 6, 'system', '019e830e-1f10-7000-a531-a41d4fd292e9', 'system', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'task', 'claimed by ben, attempt 1 of 3: Count
bridge task show 019e830e-1fb3-7000-83e0-af66c8770154', 'text', NULL, '019e830e-1fcd-7000-bd11-a69341a00a62', 0, '019e830e-1fb3-7000-83e0-af66c8770154', NULL, NULL, '2026-06-01T12:00:01.485Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-1fdc-7000-84f0-68d2815e737a', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 7, 'system', '019e830e-1f10-7000-a531-a41d4fd292e9', 'system', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'task', 'released by ben, the task is open: Count
no time
bridge task show 019e830e-1fb3-7000-83e0-af66c8770154', 'text', NULL, '019e830e-1fdc-7000-84f0-68d2815e737a', 0, '019e830e-1fb3-7000-83e0-af66c8770154', NULL, NULL, '2026-06-01T12:00:01.500Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-1fed-7001-bc41-c68d28942147', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 8, 'system', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'system', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'task', 'new task from ada: Sum
bridge task show 019e830e-1fed-7000-99a1-2728266dfea7', 'text', NULL, '019e830e-1fed-7001-bc41-c68d28942147', 0, '019e830e-1fed-7000-99a1-2728266dfea7', NULL, NULL, '2026-06-01T12:00:01.517Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-1ff1-7000-afd4-ec6ea75ad7c3', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 9, 'system', '019e830e-1f10-7000-a531-a41d4fd292e9', 'system', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'task', 'claimed by ben, attempt 1 of 3: Sum
bridge task show 019e830e-1fed-7000-99a1-2728266dfea7', 'text', NULL, '019e830e-1ff1-7000-afd4-ec6ea75ad7c3', 0, '019e830e-1fed-7000-99a1-2728266dfea7', NULL, NULL, '2026-06-01T12:00:01.521Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-201d-7001-a018-bd76c0abb131', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 10, 'system', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'system', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', '019e830e-1f10-7000-a531-a41d4fd292e9', 'transfer', 'ada offers a file: report.pdf (6 bytes)
bridge transfer receive 019e830e-201d-7000-b603-8392ced4ad9b', 'text', NULL, '019e830e-201d-7001-a018-bd76c0abb131', 0, NULL, '019e830e-201d-7000-b603-8392ced4ad9b', NULL, '2026-06-01T12:00:01.565Z', 0, 0, NULL, NULL, NULL, NULL),
  ('019e830e-2036-7002-b929-855ddf35c8c4', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-2036-7000-9229-0d4391c3590c', 1, 'owner', NULL, 'olu', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'note', 'hello ada', 'text', NULL, '019e830e-2036-7002-b929-855ddf35c8c4', 0, NULL, NULL, NULL, '2026-06-01T12:00:01.590Z', 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO inboxes VALUES
  ('019e830e-1ebb-7000-9a9c-595b5076ddb8', 5),
  ('019e830e-1f10-7000-a531-a41d4fd292e9', 5);
INSERT INTO replay_floor VALUES
  (1, 0);
INSERT INTO idempotency VALUES
  ('019e830e-1e89-7000-b9fa-0268ad2f24f5', 'POST', '/api/admin/projects/{id}/messages', '53005cbd-6ed7-48bd-a728-759f763a9e79', X'6F604A3A0611EC2B5B60167FC3BCAD11345A21DEBFB95319889E9C9BE6FF3BDC', '{"id":"019e830e-2036-7002-b929-855ddf35c8c4","conversation_id":"019e830e-2036-7000-9229-0d4391c3590c","sequence":1,"sender":{"kind":"owner","name":"olu"},"recipient":{"kind":"agent"},"recipient_agent_id":"019e830e-1ebb-7000-9a9c-595b5076ddb8","type":"note","body":"hello ada","encoding":"text","in_reply_to":null,"root_id":"019e830e-2036-7002-b929-855ddf35c8c4","hops":0,"task_id":null,"transfer_id":null,"expects_reply_by":null,"created_at":"2026-06-01T12:00:01.590Z","delivery":{"stored_at":"2026-06-01T12:00:01.590Z","first_offered_at":null,"offers":0,"acknowledged_at":null}}', '2026-06-01T12:00:01.590Z', '019e830e-1ea6-7000-b01e-9eb11fb247f8'),
  ('019e830e-1ebb-7000-9a9c-595b5076ddb8', 'POST', '/api/v1/conversations', '6a3286bd-2555-4283-a6ad-fd0c2768252a', X'4AAD790960996A8A4FBBED2B4A1941A58AEF74F0CC5AB211FEB36490EB893956', '{"id":"019e830e-1f51-7000-a4da-8f940f0185a3","project_id":"019e830e-1ea6-7000-b01e-9eb11fb247f8","kind":"peer","participants":[{"kind":"agent","agent_id":"019e830e-1ebb-7000-9a9c-595b5076ddb8","name":"ada"},{"kind":"agent","agent_id":"019e830e-1f10-7000-a531-a41d4fd292e9","name":"ben"}],"created_at":"2026-06-01T12:00:01.361Z","last_sequence":0}', '2026-06-01T12:00:01.361Z', NULL),
  ('019e830e-1ebb-7000-9a9c-595b5076ddb8', 'POST', '/api/v1/messages', 'b573f359-d663-485b-8231-ec65298e075f', X'54A511FA297DF3A7AE1242DF0A34D2E6DBB2AAB67D6D2BDCE90921D9A099EFEF', '{"message":{"id":"019e830e-1f5f-7000-ac77-1a35c1d914ab","conversation_id":"019e830e-1f51-7000-a4da-8f940f0185a3","sequence":1,"sender":{"kind":"agent","agent_id":"019e830e-1ebb-7000-9a9c-595b5076ddb8","name":"ada"},"recipient":{"kind":"agent"},"recipient_agent_id":"019e830e-1f10-7000-a531-a41d4fd292e9","type":"note","body":"first","encoding":"text","in_reply_to":null,"root_id":"019e830e-1f5f-7000-ac77-1a35c1d914ab","hops":0,"task_id":null,"transfer_id":null,"expects_reply_by":null,"created_at":"2026-06-01T12:00:01.375Z","delivery":{"stored_at":"2026-06-01T12:00:01.375Z","first_offered_at":null,"offers":0,"acknowledged_at":null}},"recipient":{"connection":{"connected":true,"listening_now":false,"last_contact_at":"2026-06-01T12:00:01.350Z","next_contact":{"kind":"unknown","expected_at":null,"overdue":false},"observed_at":"2026-06-01T12:00:01.376Z"}}}', '2026-06-01T12:00:01.376Z', NULL);
INSERT INTO audit VALUES
  ('019e830e-1cf1-7000-b4ad-eefd7cb024b4', '2026-06-01T12:00:00.753Z', 'owner.setup_link_made', NULL, 'system', NULL, 'system', 'owner_link', NULL, NULL, '{"expires_at":"2026-06-01T12:30:00.754Z"}'),
  ('019e830e-1e89-7001-9391-07f3109a8bd7', '2026-06-01T12:00:01.161Z', 'owner.set_up', NULL, 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'owner_user', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'tg-aum-j3kcM', '{}'),
  ('019e830e-1e89-7003-b4b4-d4df24fc3578', '2026-06-01T12:00:01.161Z', 'owner.signed_in', NULL, 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'owner_session', '019e830e-1e89-7002-9c9e-f03784ff6f0e', 'tg-aum-j3kcM', '{"address":"127.0.0.1"}'),
  ('019e830e-1ea6-7001-b80e-3f9ac6e9d9d0', '2026-06-01T12:00:01.190Z', 'project.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'project', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'K8ABiaVPFQgo', '{"name":"demo"}'),
  ('019e830e-1ebb-7001-a649-f375c279d565', '2026-06-01T12:00:01.211Z', 'agent.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'TocUm0e0gYiD', '{"name":"ada"}'),
  ('019e830e-1ed0-7001-bc87-9d49bc97a71a', '2026-06-01T12:00:01.232Z', 'enrollment.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'enrollment', '019e830e-1ed0-7000-bedd-0761198657bf', 'iSe3cB6I8SyQ', '{"agent_id":"019e830e-1ebb-7000-9a9c-595b5076ddb8","binding":"key","expires_at":"2026-06-01T13:00:01.233Z"}'),
  ('019e830e-1ef3-7001-a57a-248000134087', '2026-06-01T12:00:01.267Z', 'enrollment.claimed', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'enrollment', '019e830e-1ed0-7000-bedd-0761198657bf', '46fkr3lNopSW', '{"credential_id":"019e830e-1ef3-7000-a8fa-7c1848fb10ae","fingerprint":"SHA256:iPY0wkJXEQeGQHwadAHMataR0egoMnmtIfKIMOp2W+I","client":{"name":"test","version":"1"}}'),
  ('019e830e-1f03-7001-9dde-99b33de02d65', '2026-06-01T12:00:01.283Z', 'session.started', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'session', '019e830e-1f03-7000-832b-b32926c8f195', '-NgPZv0v7GOG', '{"generation":1,"client":{"name":"test","version":"1"},"replaced_session_id":null}'),
  ('019e830e-1f10-7001-8260-9a59045b784f', '2026-06-01T12:00:01.296Z', 'agent.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'wF1676zp059j', '{"name":"ben"}'),
  ('019e830e-1f24-7001-97cb-e8862a915b69', '2026-06-01T12:00:01.316Z', 'enrollment.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'enrollment', '019e830e-1f24-7000-962b-01381399d7f6', 'XO0uVShFd3Q7', '{"agent_id":"019e830e-1f10-7000-a531-a41d4fd292e9","binding":"key","expires_at":"2026-06-01T13:00:01.316Z"}'),
  ('019e830e-1f2f-7001-a6ef-70a6d0f86650', '2026-06-01T12:00:01.327Z', 'enrollment.claimed', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'enrollment', '019e830e-1f24-7000-962b-01381399d7f6', 'vMO8_ZG7Z2RT', '{"credential_id":"019e830e-1f2f-7000-ab2d-eefeb8e47ce1","fingerprint":"SHA256:NfOGCNUrX3wgIlsHTPkIMj4nO4UlYpu14WLdF2OxEog","client":{"name":"test","version":"1"}}'),
  ('019e830e-1f45-7001-aabf-3842a4cf868f', '2026-06-01T12:00:01.349Z', 'session.started', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'session', '019e830e-1f45-7000-b15e-cdd50546ceb9', 'hDuj9_z1lKal', '{"generation":1,"client":{"name":"test","version":"1"},"replaced_session_id":null}'),
  ('019e830e-1f51-7001-bf16-962b1ad58742', '2026-06-01T12:00:01.361Z', 'conversation.opened', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'conversation', '019e830e-1f51-7000-a4da-8f940f0185a3', 'GSvpLocPnWj9', '{"kind":"peer"}'),
  ('019e830e-1f5f-7001-86d7-c08916a0aac0', '2026-06-01T12:00:01.375Z', 'message.sent', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'message', '019e830e-1f5f-7000-ac77-1a35c1d914ab', 'Vw50iU7XMXZ8', '{"conversation_id":"019e830e-1f51-7000-a4da-8f940f0185a3","sequence":1,"type":"note"}'),
  ('019e830e-1f6f-7001-baaa-2849380c86d5', '2026-06-01T12:00:01.391Z', 'message.sent', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'message', '019e830e-1f6f-7000-9897-da1b621e2dbb', '11rk45AqfcYz', '{"conversation_id":"019e830e-1f51-7000-a4da-8f940f0185a3","sequence":2,"type":"question"}'),
  ('019e830e-1f76-7001-af72-7dbcbd37e31d', '2026-06-01T12:00:01.398Z', 'message.sent', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'message', '019e830e-1f76-7000-97d8-1be818ea398e', 'wLlOG2hacpKD', '{"conversation_id":"019e830e-1f51-7000-a4da-8f940f0185a3","sequence":3,"type":"question"}'),
  ('019e830e-1f94-7000-9ea3-94860a9517c0', '2026-06-01T12:00:01.428Z', 'message.acknowledged', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'message', '019e830e-1f5f-7000-ac77-1a35c1d914ab', 'dARB6_V1JxG1', '{"message_ids":["019e830e-1f5f-7000-ac77-1a35c1d914ab"]}'),
  ('019e830e-1fa7-7001-9c6b-ba466c9cc6a4', '2026-06-01T12:00:01.447Z', 'message.sent', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'message', '019e830e-1fa7-7000-9b22-33f12d851d23', '2fukXH66go6d', '{"conversation_id":"019e830e-1f51-7000-a4da-8f940f0185a3","sequence":4,"type":"answer"}'),
  ('019e830e-1fb3-7002-adf3-a44479339555', '2026-06-01T12:00:01.459Z', 'task.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'task', '019e830e-1fb3-7000-83e0-af66c8770154', 'e1zoV8-jN5q8', '{"state":"open","claim_generation":0}'),
  ('019e830e-1fcd-7001-84a0-fd03e7ca8d1e', '2026-06-01T12:00:01.485Z', 'task.claimed', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'task', '019e830e-1fb3-7000-83e0-af66c8770154', 'ZteLa7npZT6G', '{"state":"claimed","claim_generation":1}'),
  ('019e830e-1fdc-7001-8f17-75fbbda5c586', '2026-06-01T12:00:01.500Z', 'task.released', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'task', '019e830e-1fb3-7000-83e0-af66c8770154', 'WMW2abx3ww_9', '{"state":"open","claim_generation":1}'),
  ('019e830e-1fed-7002-93f5-46e946314f3a', '2026-06-01T12:00:01.517Z', 'task.created', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'task', '019e830e-1fed-7000-99a1-2728266dfea7', 'oA1CZ0y02Or5', '{"state":"open","claim_generation":0}'),
  ('019e830e-1ff1-7001-b38c-d9d8711ce5f7', '2026-06-01T12:00:01.521Z', 'task.claimed', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1f10-7000-a531-a41d4fd292e9', 'ben', 'task', '019e830e-1fed-7000-99a1-2728266dfea7', 'IRTwRmP4y2Ev', '{"state":"claimed","claim_generation":1}'),
  ('019e830e-201d-7002-91dc-d862ec877dd7', '2026-06-01T12:00:01.565Z', 'transfer.offered', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', 'transfer', '019e830e-201d-7000-b603-8392ced4ad9b', 'iGfRraK9FWCV', '{"state":"offered","mode":"package","size":6}'),
  ('019e830e-2036-7001-a6f6-fac1a48c3927', '2026-06-01T12:00:01.590Z', 'conversation.opened', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'conversation', '019e830e-2036-7000-9229-0d4391c3590c', '2zhJoL2pW9jO', '{"kind":"owner"}'),
  ('019e830e-2036-7003-b479-020d4a6591bb', '2026-06-01T12:00:01.590Z', 'message.sent', '019e830e-1ea6-7000-b01e-9eb11fb247f8', 'owner', '019e830e-1e89-7000-b9fa-0268ad2f24f5', 'olu', 'message', '019e830e-2036-7002-b929-855ddf35c8c4', '2zhJoL2pW9jO', '{"conversation_id":"019e830e-2036-7000-9229-0d4391c3590c","sequence":1,"type":"note"}');
INSERT INTO tasks VALUES
  ('019e830e-1fb3-7000-83e0-af66c8770154', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', '019e830e-1f10-7000-a531-a41d4fd292e9', 'Count', 'open', 1, 3, 1800, NULL, 1, '019e830e-1f45-7000-b15e-cdd50546ceb9', 1, '2026-06-01T12:00:01.485Z', NULL, 'released', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-06-01T12:00:01.459Z', '2026-06-01T12:00:01.500Z', 'count the lines', NULL, NULL, NULL),
  ('019e830e-1fed-7000-99a1-2728266dfea7', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', 'agent', '019e830e-1ebb-7000-9a9c-595b5076ddb8', 'ada', '019e830e-1f10-7000-a531-a41d4fd292e9', 'Sum', 'claimed', 1, 3, 1800, NULL, 1, '019e830e-1f45-7000-b15e-cdd50546ceb9', 1, '2026-06-01T12:00:01.521Z', '2026-06-01T12:30:01.521Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-06-01T12:00:01.517Z', '2026-06-01T12:00:01.521Z', 'count the lines', NULL, NULL, NULL);
INSERT INTO transfers VALUES
  ('019e830e-201d-7000-b603-8392ced4ad9b', '019e830e-1ea6-7000-b01e-9eb11fb247f8', '019e830e-1f51-7000-a4da-8f940f0185a3', '019e830e-1ebb-7000-9a9c-595b5076ddb8', '019e830e-1f10-7000-a531-a41d4fd292e9', 'report.pdf', 6, '845e91831319e89c4d656bdb80c278ac09a7230d61e5dfd2e1b1fbb436ac8917', 'package', 'none', 'offered', '2026-06-02T12:00:01.565Z', '2026-06-02T12:00:01.565Z', 6, 0, NULL, NULL, NULL, NULL, NULL, '2026-06-01T12:00:01.565Z', '2026-06-01T12:00:01.565Z', '[{"index":0,"offset":0,"size":6,"sha256":"845e91831319e89c4d656bdb80c278ac09a7230d61e5dfd2e1b1fbb436ac8917"}]');
INSERT INTO nonces VALUES
  ('019e830e-1ef3-7000-a8fa-7c1848fb10ae', X'A0CD78999D5BF385CA03443076E026EB', 1780315201),
  ('019e830e-1ef3-7000-a8fa-7c1848fb10ae', X'78F3A28BD7AE78FA62FC23CC5F14604F', 1780315201),
  ('019e830e-1ef3-7000-a8fa-7c1848fb10ae', X'AE410B8A9936D022E8EDF9A8FC731611', 1780315201);
INSERT INTO task_releases VALUES
  ('019e830e-1fb3-7000-83e0-af66c8770154', 1, 'no time');
INSERT INTO steady_clock VALUES
  (1, 1780315201613, 1780315201613);
