/** What a session has not been offered yet, oldest first, without reading what it has. */
export const sql = `
CREATE INDEX messages_fresh ON messages (inbox_agent_id, offered_generation, id)
  WHERE acknowledged_at IS NULL AND inbox_agent_id IS NOT NULL;
`
