/**
 * The installation: its id, the readings of its clocks, and when maintenance last ran.
 *
 * The id is part of every signed text, so a proof for one server is invalid at another. The name of this
 * migration differs from the first name in `replaced.ts`. So `migrate` refuses a database that has only some
 * migrations of that list.
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
