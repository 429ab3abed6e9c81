/**
 * Transfers, and the endpoints and tokens of helpers, sealed with the envelope key.
 *
 * - `parts` is the last column, because lists do not read it.
 * - `transfers_reserved` gives the bytes that the packages of each sender reserve, and their sum over all
 *   senders.
 * - A sealed secret is removed when it expires or when its transfer ends.
 */
export const sql = `
CREATE TABLE transfers (
  id TEXT PRIMARY KEY,
  project_id TEXT NOT NULL REFERENCES projects (id),
  conversation_id TEXT NOT NULL REFERENCES conversations (id),
  sender_agent_id TEXT NOT NULL REFERENCES agents (id),
  recipient_agent_id TEXT NOT NULL REFERENCES agents (id),
  filename TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('package', 'direct')),
  encryption TEXT NOT NULL CHECK (encryption IN ('none', 'age')),
  state TEXT NOT NULL CHECK (state IN
    ('offered', 'accepted', 'verified', 'declined', 'failed', 'cancelled', 'expired')),
  expires_at TEXT NOT NULL,
  ends_at TEXT,
  reserved_bytes INTEGER NOT NULL,
  stored_parts INTEGER NOT NULL,
  stored_at TEXT,
  removed_at TEXT,
  receipt_at TEXT,
  cleanup_sender_at TEXT,
  cleanup_recipient_at TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  parts TEXT NOT NULL,
  CHECK ((state IN ('offered', 'accepted')) = (ends_at IS NOT NULL)),
  CHECK ((state = 'verified') = (receipt_at IS NOT NULL))
) STRICT;
CREATE INDEX transfers_by_sender ON transfers (sender_agent_id, id);
CREATE INDEX transfers_by_sender_state ON transfers (sender_agent_id, state, id);
CREATE INDEX transfers_by_recipient ON transfers (recipient_agent_id, id);
CREATE INDEX transfers_by_recipient_state ON transfers (recipient_agent_id, state, id);
CREATE INDEX transfers_by_project ON transfers (project_id, id);
CREATE INDEX transfers_by_project_state ON transfers (project_id, state, id);
CREATE INDEX transfers_by_conversation_open ON transfers (conversation_id, id) WHERE ends_at IS NOT NULL;
CREATE INDEX transfers_open ON transfers (ends_at) WHERE ends_at IS NOT NULL;
CREATE INDEX transfers_unremoved ON transfers (id)
  WHERE mode = 'package' AND ends_at IS NULL AND removed_at IS NULL;
CREATE INDEX transfers_reserved ON transfers (sender_agent_id, reserved_bytes) WHERE reserved_bytes > 0;
CREATE TABLE transfer_secrets (
  transfer_id TEXT PRIMARY KEY REFERENCES transfers (id),
  project_id TEXT NOT NULL REFERENCES projects (id),
  deposited_by TEXT NOT NULL,
  sealed BLOB NOT NULL,
  expires_at TEXT NOT NULL
) STRICT;
CREATE INDEX transfer_secrets_by_expiry ON transfer_secrets (expires_at);
CREATE INDEX transfer_secrets_by_project ON transfer_secrets (project_id);
`
