/** What an owner has not dealt with, each found without reading the rest: mail to the owner, answers, open enrolments. */
export const sql = `
CREATE INDEX messages_to_owner ON messages (project_id, type, id)
  WHERE recipient_kind = 'owner' AND acknowledged_at IS NULL;
CREATE INDEX messages_owner_replies ON messages (in_reply_to)
  WHERE sender_kind = 'owner' AND in_reply_to IS NOT NULL;
CREATE INDEX enrollments_pending ON enrollments (project_id, expires_at) WHERE state = 'pending';
`
