/** Takeover grants, one open per agent, only as a hash; a new one voids the last. */
export const sql = `
CREATE TABLE takeovers (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  grant_sha256 BLOB NOT NULL,
  expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`
