/** What a session was offered and has not acknowledged, longest ago first. */
export const sql = `
CREATE INDEX messages_due ON messages (inbox_agent_id, offered_generation, last_offered_at)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL;
`
