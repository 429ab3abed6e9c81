/**
 * Settings on which all nodes of one PostgreSQL database must agree, as each of them has them. Null if the row is that of
 * an older program, or of a command that serves alone. Older programs serve no database with others.
 */
export const sql = `
SELECT 1;
`
export const postgres = `
ALTER TABLE nodes
  ADD COLUMN portal_origin text COLLATE "C",
  ADD COLUMN packages text COLLATE "C";
UPDATE oldest_program SET number = 31;
`
