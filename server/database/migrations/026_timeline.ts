/** The timeline of a PostgreSQL database, so that a failover is recognised. SQLite needs nothing. */
export const sql = `
SELECT 1;
`
export const postgres = `
ALTER TABLE place ADD COLUMN timeline text COLLATE "C";
ALTER TABLE place ADD COLUMN synchronous bigint NOT NULL DEFAULT 0;
`
