/**
 * The tables of a new database on PostgreSQL: the shape after the first 23 migrations.
 *
 * - Ids and other texts compare byte by byte, as in SQLite, whatever collation the database has.
 * - Indexes that end in the rowid in SQLite end in the id. Stored answers have no id, so they are numbered as
 *   they arrive.
 * - `lanes` holds the last id of each project and of the node; see `lanes.ts`. `nodes` holds the node that
 *   serves; see `nodes.ts`.
 */
import { baseline as work } from './baseline-work.ts'

/** Number of migrations that the baseline contains. */
export const baselineNumber = 23

const people = `
CREATE TABLE server (
  one bigint PRIMARY KEY CHECK (one = 1),
  server_id text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL
);
CREATE TABLE steady_clock (
  one bigint PRIMARY KEY CHECK (one = 1),
  wall_ms bigint NOT NULL,
  steady_ms bigint NOT NULL
);
CREATE TABLE maintenance (
  one bigint PRIMARY KEY CHECK (one = 1),
  looked_at text COLLATE "C" NOT NULL
);
CREATE TABLE owner_users (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  role text COLLATE "C" NOT NULL CHECK (role IN ('owner', 'administrator')),
  password text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('enabled', 'disabled')),
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX owner_users_one_owner ON owner_users (role) WHERE role = 'owner';
CREATE TABLE owner_links (
  token_sha256 bytea PRIMARY KEY,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('setup', 'sign_in')),
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  used_at text COLLATE "C",
  user_id text COLLATE "C" REFERENCES owner_users (id)
);
CREATE INDEX owner_links_by_user ON owner_links (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX owner_links_by_expiry ON owner_links (expires_at);
CREATE TABLE owner_sessions (
  id text COLLATE "C" PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL REFERENCES owner_users (id),
  token_sha256 bytea NOT NULL UNIQUE,
  created_at text COLLATE "C" NOT NULL,
  last_used_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  fresh_until text COLLATE "C" NOT NULL,
  user_agent text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C"
);
CREATE INDEX owner_sessions_by_user ON owner_sessions (user_id, id);
CREATE INDEX owner_sessions_by_expiry ON owner_sessions (expires_at);
CREATE TABLE projects (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  description text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'paused', 'archived')),
  idle_seconds bigint,
  empty_polls bigint,
  message_budget bigint,
  retention_days bigint,
  audit_days bigint,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  deleted_at text COLLATE "C"
);
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE TABLE project_administrators (
  user_id text COLLATE "C" NOT NULL REFERENCES owner_users (id),
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  created_at text COLLATE "C" NOT NULL,
  PRIMARY KEY (user_id, project_id)
);
CREATE INDEX project_administrators_by_project ON project_administrators (project_id, user_id);
CREATE TABLE environments (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  name text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('laptop', 'server', 'container', 'ci', 'other')),
  description text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  UNIQUE (project_id, name)
);
CREATE INDEX environments_by_project ON environments (project_id, id);
CREATE TABLE agents (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  environment_id text COLLATE "C" REFERENCES environments (id),
  name text COLLATE "C" NOT NULL,
  role_name text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL,
  prompt_template text COLLATE "C" NOT NULL,
  instructions text COLLATE "C" NOT NULL,
  instructions_updated_at text COLLATE "C",
  state text COLLATE "C" NOT NULL CHECK (state IN ('enabled', 'disabled')),
  session_generation bigint NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  UNIQUE (project_id, name)
);
CREATE INDEX agents_by_project ON agents (project_id, id);
CREATE INDEX agents_by_environment ON agents (environment_id) WHERE environment_id IS NOT NULL;
CREATE TABLE pairings (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  agent_a text COLLATE "C" NOT NULL REFERENCES agents (id),
  agent_b text COLLATE "C" NOT NULL REFERENCES agents (id),
  enabled bigint NOT NULL CHECK (enabled IN (0, 1)),
  updated_at text COLLATE "C" NOT NULL,
  UNIQUE (agent_a, agent_b),
  CHECK (agent_a < agent_b)
);
CREATE INDEX pairings_by_project ON pairings (project_id, id);
CREATE INDEX pairings_by_second_agent ON pairings (agent_b);
CREATE TABLE credentials (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  binding text COLLATE "C" NOT NULL CHECK (binding IN ('key', 'device', 'legacy')),
  public_key text COLLATE "C",
  device text COLLATE "C",
  secret_sha256 bytea,
  scopes text COLLATE "C" NOT NULL,
  fingerprint text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C",
  revoked_at text COLLATE "C",
  last_used_at text COLLATE "C",
  CHECK ((binding = 'legacy') = (secret_sha256 IS NOT NULL)),
  CHECK ((binding = 'legacy') = (public_key IS NULL)),
  CHECK ((binding = 'device') = (device IS NOT NULL))
);
CREATE INDEX credentials_by_project ON credentials (project_id, id);
CREATE INDEX credentials_by_agent ON credentials (agent_id);
CREATE TABLE enrollments (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  code_sha256 bytea NOT NULL UNIQUE,
  binding text COLLATE "C" NOT NULL CHECK (binding IN ('key', 'device')),
  scopes text COLLATE "C" NOT NULL,
  keep_existing bigint NOT NULL CHECK (keep_existing IN (0, 1)),
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'claimed', 'revoked')),
  created_at text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  claimed_at text COLLATE "C",
  credential_id text COLLATE "C" REFERENCES credentials (id)
);
CREATE INDEX enrollments_by_agent ON enrollments (agent_id, state);
CREATE INDEX enrollments_by_project ON enrollments (project_id, id);
CREATE INDEX enrollments_by_credential ON enrollments (credential_id) WHERE credential_id IS NOT NULL;
CREATE INDEX enrollments_by_expiry ON enrollments (expires_at);
CREATE INDEX enrollments_pending ON enrollments (project_id, expires_at) WHERE state = 'pending';
CREATE TABLE sessions (
  id text COLLATE "C" PRIMARY KEY,
  project_id text COLLATE "C" NOT NULL REFERENCES projects (id),
  agent_id text COLLATE "C" NOT NULL REFERENCES agents (id),
  credential_id text COLLATE "C" NOT NULL REFERENCES credentials (id),
  instance_id text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  state text COLLATE "C" NOT NULL CHECK (state IN ('active', 'fenced', 'closed')),
  client_name text COLLATE "C" NOT NULL,
  client_version text COLLATE "C" NOT NULL,
  started_at text COLLATE "C" NOT NULL,
  last_contact_at text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C",
  replaced_session_id text COLLATE "C",
  contact_mode text COLLATE "C" CHECK (contact_mode IN ('short_poll', 'checkpoint')),
  contact_interval_seconds bigint,
  grant_sha256 bytea,
  UNIQUE (agent_id, generation)
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX sessions_one_active ON sessions (agent_id) WHERE state = 'active';
CREATE INDEX sessions_by_credential ON sessions (credential_id, state);
CREATE TABLE challenges (
  challenge_sha256 bytea PRIMARY KEY,
  credential_id text COLLATE "C" NOT NULL REFERENCES credentials (id),
  device text COLLATE "C" NOT NULL,
  expires_at text COLLATE "C" NOT NULL
);
CREATE INDEX challenges_by_expiry ON challenges (expires_at);
CREATE INDEX challenges_by_credential ON challenges (credential_id);
CREATE TABLE takeovers (
  agent_id text COLLATE "C" PRIMARY KEY REFERENCES agents (id),
  grant_sha256 bytea NOT NULL,
  expires_at text COLLATE "C" NOT NULL,
  fenced_session_id text COLLATE "C"
);
CREATE INDEX takeovers_by_expiry ON takeovers (expires_at);
`

export const baseline = people + work
