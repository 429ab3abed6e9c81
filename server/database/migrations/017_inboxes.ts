/** How many unacknowledged messages each inbox holds, so that nobody counts them. */
export const sql = `
CREATE TABLE inboxes (
  agent_id TEXT PRIMARY KEY REFERENCES agents (id),
  waiting INTEGER NOT NULL CHECK (waiting >= 0)
) STRICT, WITHOUT ROWID;
`
