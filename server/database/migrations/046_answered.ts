/** When somebody else answered a question that waits until a time: those that wait still are found without the rest. */
export const sql = `
ALTER TABLE messages ADD COLUMN answered_at TEXT;
UPDATE messages SET answered_at = answers.at
  FROM (SELECT answer.in_reply_to AS id, min(answer.created_at) AS at
    FROM messages AS answer JOIN messages AS question ON question.id = answer.in_reply_to
    WHERE question.expects_reply_by IS NOT NULL AND answer.sender_agent_id IS NOT question.sender_agent_id
    GROUP BY answer.in_reply_to) AS answers
  WHERE messages.id = answers.id;
CREATE INDEX messages_awaited ON messages (project_id, expects_reply_by)
  WHERE type = 'question' AND sender_kind = 'agent' AND recipient_kind = 'agent'
    AND expects_reply_by IS NOT NULL AND answered_at IS NULL;
`
