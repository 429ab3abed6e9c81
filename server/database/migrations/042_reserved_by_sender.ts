/** What each sender's packages reserve, found without reading those of others; it serves the sum over all as well. */
export const sql = `
DROP INDEX transfers_reserved;
CREATE INDEX transfers_reserved ON transfers (sender_agent_id, reserved_bytes) WHERE reserved_bytes > 0;
`
