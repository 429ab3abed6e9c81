/**
 * The installation: its id, the readings of its clocks, and when maintenance last ran.
 *
 * The id is part of every signed text, so a proof for one server is invalid at another. The name of this step differs
 * from the first step of the list in `replaced.ts`: a database that was left in the middle of that list is refused.
 */
export const sql = `
CREATE TABLE server (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  server_id TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;
CREATE TABLE steady_clock (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  wall_ms INTEGER NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE maintenance (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  looked_at TEXT NOT NULL
) STRICT;
`
