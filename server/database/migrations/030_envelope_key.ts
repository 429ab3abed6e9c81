/**
 * A value that shows whether a node has the envelope key with which the secrets of the installation are sealed.
 * A node on PostgreSQL writes it. A node on SQLite has the key beside its database, and only keeps the value.
 */
export const sql = `
ALTER TABLE server ADD COLUMN envelope_key_check TEXT;
`
export const postgres = `
ALTER TABLE server ADD COLUMN envelope_key_check text COLLATE "C";
`
