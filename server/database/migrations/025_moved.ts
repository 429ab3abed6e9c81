/**
 * The last move of the installation between two databases. In the source the row names the target, and no
 * node starts there. In the target it stands until the source has its row.
 */
export const sql = `
CREATE TABLE moved (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  state TEXT NOT NULL CHECK (state IN ('arrived', 'left')),
  move_id TEXT NOT NULL,
  place TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
`
export const postgres = `
CREATE TABLE moved (
  one bigint PRIMARY KEY CHECK (one = 1),
  state text COLLATE "C" NOT NULL CHECK (state IN ('arrived', 'left')),
  move_id text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL,
  at text COLLATE "C" NOT NULL
);
`
