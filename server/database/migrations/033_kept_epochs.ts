/**
 * The last ids of all lanes when a node joined a PostgreSQL database that no other one served. So its writes
 * hide no loss from a node that was stopped meanwhile. SQLite needs nothing.
 */
export const sql = `
SELECT 1;
`
export const postgres = `
CREATE TABLE kept_epochs (
  epoch bigint NOT NULL,
  lane text COLLATE "C" NOT NULL,
  last text COLLATE "C" NOT NULL,
  PRIMARY KEY (epoch, lane)
);
ALTER TABLE place ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
`
