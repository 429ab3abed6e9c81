/**
 * The columns of the tables of which prepared queries read whole rows. A connection keeps a prepared query, and
 * PostgreSQL refuses it once its rows have changed. So a query that reads `*` would fail at each node that
 * serves while a newer program adds a column.
 */
import type { ConversationRow, CredentialRow, MessageRow, SessionRow } from './tables.ts'
import type { TaskRow, TransferRow, TransferSecretRow } from './work-tables.ts'

/** The type of `names` requires each column. */
const listed = <R>(names: Readonly<Record<keyof R & string, true>>) =>
  Object.keys(names) as (keyof R & string)[]

/** The columns with the name of their table, for joins. The names of the results stay: unions are ordered by them. */
const inTable = <T extends string, C extends string>(table: T, columns: readonly C[]) =>
  columns.map((name) => `${table}.${name} as ${name}`) as { [N in C]: `${T}.${N} as ${N}` }[C][]

const credentials = listed<CredentialRow>({
  id: true,
  project_id: true,
  agent_id: true,
  binding: true,
  public_key: true,
  device: true,
  secret_sha256: true,
  scopes: true,
  fingerprint: true,
  created_at: true,
  expires_at: true,
  revoked_at: true,
  last_used_at: true,
})
export const credentialColumns = inTable('credentials', credentials)

export const sessionColumns = listed<SessionRow>({
  id: true,
  project_id: true,
  agent_id: true,
  credential_id: true,
  instance_id: true,
  generation: true,
  state: true,
  client_name: true,
  client_version: true,
  started_at: true,
  last_contact_at: true,
  ended_at: true,
  replaced_session_id: true,
  grant_sha256: true,
  contact_mode: true,
  contact_interval_seconds: true,
})

const conversations = listed<ConversationRow>({
  id: true,
  project_id: true,
  kind: true,
  agent_a: true,
  agent_b: true,
  last_sequence: true,
  removed_through_sequence: true,
  budget_from: true,
  created_at: true,
})
export const conversationColumns = inTable('conversations', conversations)

export const messageColumns = listed<MessageRow>({
  id: true,
  project_id: true,
  conversation_id: true,
  sequence: true,
  sender_kind: true,
  sender_agent_id: true,
  sender_name: true,
  recipient_kind: true,
  recipient_agent_id: true,
  inbox_agent_id: true,
  type: true,
  body: true,
  encoding: true,
  in_reply_to: true,
  root_id: true,
  hops: true,
  task_id: true,
  transfer_id: true,
  expects_reply_by: true,
  created_at: true,
  offers: true,
  offered_generation: true,
  first_offered_at: true,
  last_offered_at: true,
  acknowledged_at: true,
  answered_at: true,
})

export const taskColumns = listed<TaskRow>({
  id: true,
  project_id: true,
  conversation_id: true,
  creator_kind: true,
  creator_agent_id: true,
  creator_name: true,
  assignee_agent_id: true,
  title: true,
  state: true,
  attempts: true,
  max_attempts: true,
  claim_ttl_seconds: true,
  claim_own_ttl_seconds: true,
  due_at: true,
  claim_generation: true,
  claim_session_id: true,
  claim_session_generation: true,
  claimed_at: true,
  claim_ends_at: true,
  claim_end: true,
  cancel_requested_at: true,
  cancelled_by_kind: true,
  cancelled_by_agent_id: true,
  cancelled_by_name: true,
  cancel_reason: true,
  stop_confirmed_at: true,
  progress_note: true,
  progress_percent: true,
  progress_at: true,
  outcome_kind: true,
  outcome_at: true,
  created_at: true,
  updated_at: true,
  instructions: true,
  outcome_result: true,
  outcome_evidence: true,
  ended: true,
})

export const transferColumns = listed<TransferRow>({
  id: true,
  project_id: true,
  conversation_id: true,
  sender_agent_id: true,
  recipient_agent_id: true,
  filename: true,
  size: true,
  sha256: true,
  mode: true,
  encryption: true,
  state: true,
  expires_at: true,
  ends_at: true,
  reserved_bytes: true,
  stored_parts: true,
  stored_at: true,
  removed_at: true,
  receipt_at: true,
  cleanup_sender_at: true,
  cleanup_recipient_at: true,
  created_at: true,
  updated_at: true,
  parts: true,
})

export const transferSecretColumns = listed<TransferSecretRow>({
  transfer_id: true,
  project_id: true,
  deposited_by: true,
  sealed: true,
  expires_at: true,
})
