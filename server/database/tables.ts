/**
 * The rows of every table, in the wire's own names. Migrations make them; this types them.
 *
 * An instant that a lifetime or a window is judged by is in steady time, where it says so; see `steady-clock.ts`. Every
 * other is wall time, as it was recorded.
 */
import type { Kysely } from 'kysely'

export interface ServerRow {
  one: 1
  server_id: string
  created_at: string
}

export interface OwnerUserRow {
  id: string
  name: string
  role: 'owner' | 'administrator'
  /** Empty: none was chosen yet, and none matches. */
  password: string
  state: 'enabled' | 'disabled'
  created_at: string
  updated_at: string
}

export interface OwnerLinkRow {
  token_sha256: Buffer
  kind: 'setup' | 'sign_in'
  /** Whom it signs in; null is the owner. */
  user_id: string | null
  created_at: string
  /** In steady time. */
  expires_at: string
  used_at: string | null
}

export interface ProjectAdministratorRow {
  user_id: string
  project_id: string
  created_at: string
}

export interface OwnerSessionRow {
  id: string
  user_id: string
  token_sha256: Buffer
  created_at: string
  /** In steady time, as the two below. */
  last_used_at: string
  expires_at: string
  fresh_until: string
  user_agent: string
  ended_at: string | null
}

export interface ProjectRow {
  id: string
  name: string
  description: string
  state: 'active' | 'paused' | 'archived'
  idle_seconds: number | null
  empty_polls: number | null
  message_budget: number | null
  retention_days: number | null
  audit_days: number | null
  created_at: string
  updated_at: string
  /** Deleted: unknown to everybody from then on, and removed soon. */
  deleted_at: string | null
}

export interface EnvironmentRow {
  id: string
  project_id: string
  name: string
  kind: 'laptop' | 'server' | 'container' | 'ci' | 'other'
  description: string
  created_at: string
}

export interface AgentRow {
  id: string
  project_id: string
  environment_id: string | null
  name: string
  role_name: string
  description: string
  prompt_template: string
  instructions: string
  instructions_updated_at: string | null
  state: 'enabled' | 'disabled'
  session_generation: number
  created_at: string
}

export interface PairingRow {
  id: string
  project_id: string
  agent_a: string
  agent_b: string
  enabled: 0 | 1
  updated_at: string
}

export interface CredentialRow {
  id: string
  project_id: string
  agent_id: string
  binding: 'key' | 'device' | 'legacy'
  public_key: string | null
  device: string | null
  secret_sha256: Buffer | null
  scopes: string
  fingerprint: string
  created_at: string
  expires_at: string | null
  revoked_at: string | null
  last_used_at: string | null
}

export interface EnrollmentRow {
  id: string
  project_id: string
  agent_id: string
  code_sha256: Buffer
  binding: 'key' | 'device'
  scopes: string
  keep_existing: 0 | 1
  state: 'pending' | 'claimed' | 'revoked'
  created_at: string
  /** In steady time. */
  expires_at: string
  claimed_at: string | null
  credential_id: string | null
}

export interface SessionRow {
  id: string
  project_id: string
  agent_id: string
  credential_id: string
  instance_id: string
  generation: number
  state: 'active' | 'fenced' | 'closed'
  client_name: string
  client_version: string
  /** In steady time, as `last_contact_at`. */
  started_at: string
  last_contact_at: string
  ended_at: string | null
  replaced_session_id: string | null
  /** Of the takeover grant that started it. */
  grant_sha256: Buffer | null
  contact_mode: 'short_poll' | 'checkpoint' | null
  contact_interval_seconds: number | null
}

export interface ChallengeRow {
  challenge_sha256: Buffer
  credential_id: string
  device: string
  /** In steady time. */
  expires_at: string
}

export interface TakeoverRow {
  agent_id: string
  grant_sha256: Buffer
  /** In steady time. */
  expires_at: string
  /** Null where no session was active. */
  fenced_session_id: string | null
}

export interface ConversationRow {
  id: string
  project_id: string
  kind: 'peer' | 'owner'
  agent_a: string
  agent_b: string | null
  last_sequence: number
  removed_through_sequence: number
  budget_from: string | null
  created_at: string
}

export interface MessageRow {
  id: string
  project_id: string
  conversation_id: string
  sequence: number
  sender_kind: 'agent' | 'owner' | 'system'
  sender_agent_id: string | null
  sender_name: string
  recipient_kind: 'agent' | 'owner'
  recipient_agent_id: string
  inbox_agent_id: string | null
  type: 'question' | 'answer' | 'note' | 'result' | 'status' | 'task' | 'transfer'
  body: string
  encoding: 'text' | 'age'
  in_reply_to: string | null
  root_id: string
  hops: number
  task_id: string | null
  transfer_id: string | null
  expects_reply_by: string | null
  created_at: string
  offers: number
  offered_generation: number
  first_offered_at: string | null
  /** In steady time. */
  last_offered_at: string | null
  acknowledged_at: string | null
  /** When somebody else answered it; kept only where it expects a reply by a time. */
  answered_at: string | null
}

export interface InboxRow {
  agent_id: string
  waiting: number
}

export interface NonceRow {
  credential_id: string
  nonce: Buffer
  signed_at: number
}

export interface ReplayFloorRow {
  one: 1
  floor: number
}

export interface IdempotencyRow {
  /** Of what a person did in a project; what an agent did is found by the agent. */
  project_id: string | null
  principal: string
  method: string
  route: string
  key: string
  fingerprint: Buffer
  answer: string
  /** In steady time. */
  created_at: string
}

export interface AuditRow {
  id: string
  at: string
  kind: string
  project_id: string | null
  actor_kind: 'agent' | 'owner' | 'system' | 'anonymous'
  actor_id: string | null
  actor_name: string
  subject_type: string
  subject_id: string | null
  request_id: string | null
  details: string
}

export interface RecipientKeyRow {
  agent_id: string
  recipient: string
  fingerprint: string
  registered_at: string
  registered_by: 'agent' | 'owner'
}

export interface MaintenanceRow {
  one: 1
  looked_at: string
}

export interface TaskRow {
  id: string
  project_id: string
  conversation_id: string
  creator_kind: 'agent' | 'owner'
  creator_agent_id: string | null
  creator_name: string
  assignee_agent_id: string
  title: string
  state: 'open' | 'claimed' | 'cancel_requested' | 'completed' | 'failed' | 'declined' | 'cancelled'
  attempts: number
  max_attempts: number
  claim_ttl_seconds: number
  due_at: string | null
  claim_generation: number
  claim_session_id: string | null
  claim_session_generation: number | null
  claimed_at: string | null
  /** In steady time; null when no claim is held. */
  claim_ends_at: string | null
  claim_end: 'finished' | 'released' | 'expired' | null
  cancel_requested_at: string | null
  cancelled_by_kind: 'agent' | 'owner' | null
  cancelled_by_agent_id: string | null
  cancelled_by_name: string | null
  cancel_reason: string | null
  stop_confirmed_at: string | null
  progress_note: string | null
  progress_percent: number | null
  progress_at: string | null
  outcome_kind: 'completed' | 'failed' | 'attempts_exhausted' | 'declined' | null
  outcome_at: string | null
  created_at: string
  updated_at: string
  instructions: string
  outcome_result: string | null
  outcome_evidence: string | null
  /** The final state that it reached. */
  ended: 'completed' | 'failed' | 'declined' | 'cancelled' | null
}

export interface TaskReleaseRow {
  task_id: string
  claim_generation: number
  reason: string
}

export interface SteadyClockRow {
  one: 1
  wall_ms: number
  steady_ms: number
}

export interface TelemetryTokenRow {
  one: 1
  token_sha256: Buffer
  created_at: string
}

export interface TelemetryHostRow {
  host: string
  sampled_at: string
  cpu_percent: number
  memory_used_bytes: number
  memory_total_bytes: number
  received_at: string
}

export interface TransferRow {
  id: string
  project_id: string
  conversation_id: string
  sender_agent_id: string
  recipient_agent_id: string
  filename: string
  size: number
  sha256: string
  mode: 'package' | 'direct'
  encryption: 'none' | 'age'
  state: 'offered' | 'accepted' | 'verified' | 'declined' | 'failed' | 'cancelled' | 'expired'
  /** By the wall clock when it was offered, or as it was shown last when it ended. */
  expires_at: string
  /** In steady time; null once it has ended. */
  ends_at: string | null
  reserved_bytes: number
  stored_parts: number
  stored_at: string | null
  removed_at: string | null
  receipt_at: string | null
  cleanup_sender_at: string | null
  cleanup_recipient_at: string | null
  created_at: string
  updated_at: string
  /** JSON. */
  parts: string
}

export interface TransferSecretRow {
  transfer_id: string
  project_id: string
  deposited_by: string
  sealed: Buffer
  /** In steady time. */
  expires_at: string
}

export interface MigrationRow {
  number: number
  name: string
  applied_at: string
}

/** A connection as queries see it: of a reader, or of the transaction of one unit. */
export type Db = Kysely<Tables>

export interface Tables {
  server: ServerRow
  owner_users: OwnerUserRow
  owner_links: OwnerLinkRow
  owner_sessions: OwnerSessionRow
  project_administrators: ProjectAdministratorRow
  projects: ProjectRow
  environments: EnvironmentRow
  agents: AgentRow
  pairings: PairingRow
  credentials: CredentialRow
  enrollments: EnrollmentRow
  sessions: SessionRow
  conversations: ConversationRow
  messages: MessageRow
  inboxes: InboxRow
  nonces: NonceRow
  replay_floor: ReplayFloorRow
  idempotency: IdempotencyRow
  audit: AuditRow
  recipient_keys: RecipientKeyRow
  challenges: ChallengeRow
  takeovers: TakeoverRow
  maintenance: MaintenanceRow
  tasks: TaskRow
  steady_clock: SteadyClockRow
  telemetry_token: TelemetryTokenRow
  telemetry_hosts: TelemetryHostRow
  transfers: TransferRow
  transfer_secrets: TransferSecretRow
  task_releases: TaskReleaseRow
  schema_migrations: MigrationRow
}
