/** How many messages a sender put into a conversation lately: the loop guard. */
export const sql = `
CREATE INDEX messages_budget ON messages (conversation_id, sender_agent_id, created_at)
  WHERE sender_kind = 'agent';
`
