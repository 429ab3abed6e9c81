/** The installation: its id is part of every signed text, so a proof for one server is useless at another. */
export const sql = `
CREATE TABLE server (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  server_id TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
`
