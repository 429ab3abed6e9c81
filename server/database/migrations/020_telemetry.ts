/** Load of hosts: the latest sample of each host, and the hash of the token that hosts report with. */
export const sql = `
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
`
