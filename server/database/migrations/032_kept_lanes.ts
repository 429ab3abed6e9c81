/**
 * The last ids of all lanes when a timeline of a PostgreSQL database began, the loss that a node has found,
 * and the time of the last `bridge server restored`. So writes of one node hide no loss from another. SQLite
 * needs nothing.
 */
export const sql = `
SELECT 1;
`
export const postgres = `
CREATE TABLE kept_lanes (
  timeline text COLLATE "C" NOT NULL,
  lane text COLLATE "C" NOT NULL,
  last text COLLATE "C" NOT NULL,
  PRIMARY KEY (timeline, lane)
);
ALTER TABLE place
  ADD COLUMN forgotten text COLLATE "C",
  ADD COLUMN accepted_ms bigint NOT NULL DEFAULT 0;
`
