/**
 * What nodes on one PostgreSQL database share beside the work: who listens at which node, which a crash of the
 * database may empty, and the delays after wrong passwords. SQLite has one node, which keeps both in memory.
 */
export const sql = `
SELECT 1;
`
export const postgres = `
CREATE UNLOGGED TABLE listeners (
  agent_id text COLLATE "C" NOT NULL,
  node_id text COLLATE "C" NOT NULL,
  project_id text COLLATE "C" NOT NULL,
  waiting bigint NOT NULL CHECK (waiting IN (0, 1)),
  listening bigint NOT NULL CHECK (listening IN (0, 1)),
  since text COLLATE "C" NOT NULL,
  ended_at text COLLATE "C",
  PRIMARY KEY (agent_id, node_id)
) WITH (fillfactor = 70);
CREATE TABLE sign_in_failures (
  key text COLLATE "C" PRIMARY KEY,
  failures bigint NOT NULL,
  until timestamptz NOT NULL
) WITH (fillfactor = 70);
`
