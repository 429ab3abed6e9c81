/** A takeover names the session that it fenced, and a session the grant that started it, only as a hash. */
export const sql = `
ALTER TABLE takeovers ADD COLUMN fenced_session_id TEXT;
ALTER TABLE sessions ADD COLUMN grant_sha256 BLOB;
`
