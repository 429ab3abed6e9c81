/** A message that was never offered cannot fall due again: it is left out, and a send has one index less to write. */
export const sql = `
DROP INDEX messages_due;
CREATE INDEX messages_due ON messages (inbox_agent_id, offered_generation, last_offered_at)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL AND last_offered_at IS NOT NULL;
`
