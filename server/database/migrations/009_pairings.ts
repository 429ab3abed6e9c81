/** Pairings: one row per pair of agents, the smaller id first. Two agents without a row were never paired. */
export const sql = `
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
`
