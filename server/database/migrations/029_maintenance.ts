/** When maintenance last looked at the clock; and what has expired, oldest first. */
export const sql = `
CREATE TABLE maintenance (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  looked_at TEXT NOT NULL
) STRICT;
CREATE INDEX enrollments_by_expiry ON enrollments (expires_at);
CREATE INDEX takeovers_by_expiry ON takeovers (expires_at);
CREATE INDEX owner_links_by_expiry ON owner_links (expires_at);
CREATE INDEX owner_sessions_by_expiry ON owner_sessions (expires_at);
`
