/** When an agent means to come back: it belongs to its session. */
export const sql = `
ALTER TABLE sessions ADD COLUMN contact_mode TEXT CHECK (contact_mode IN ('short_poll', 'checkpoint'));
ALTER TABLE sessions ADD COLUMN contact_interval_seconds INTEGER;
`
