/** Where a PostgreSQL database was made, so that a loaded dump is recognised. SQLite needs nothing. */
export const sql = `
SELECT 1;
`
export const postgres = `
CREATE TABLE place (
  one bigint PRIMARY KEY CHECK (one = 1),
  place text COLLATE "C" NOT NULL
);
`
