/**
 * Types of the rows of all tables, which migrations make. The columns have the names of the API. `docs/schema.sql`
 * repeats each comment. An instant is wall time unless its comment says "In steady time"; see `steady-clock.ts`.
 * Ids are UUIDv7, in the order in which rows are made. The rows of the node itself are in `node-tables.ts`, those
 * of tasks, transfers and their keys in `work-tables.ts`.
 */
import type { Kysely } from 'kysely'
import type {
  IdempotencyRow,
  MaintenanceRow,
  MigrationRow,
  MovedRow,
  NonceRow,
  OwnerLinkRow,
  OwnerSessionRow,
  OwnerUserRow,
  ProjectAdministratorRow,
  ReplayFloorRow,
  ServerRow,
  SteadyClockRow,
  TelemetryHostRow,
  TelemetryTokenRow,
} from './node-tables.ts'
import type {
  RecipientKeyRow,
  TaskReleaseRow,
  TaskRow,
  TransferPartRow,
  TransferRow,
  TransferSecretRow,
} from './work-tables.ts'

/** Projects. Agents of different projects never meet. */
export interface ProjectRow {
  /** Primary key. */
  id: string
  /** Unique on the node. */
  name: string
  /** Free text of the owner. */
  description: string
  /**
   * Paused: agents can read, acknowledge and finish work, but begin nothing new. Archived: the node refuses
   * all requests of agents.
   */
  state: 'active' | 'paused' | 'archived'
  /** Idle policy: seconds without a message after which a listener ends. Null: never. */
  idle_seconds: number | null
  /** Idle policy: number of empty answers after which a listener ends. Null: never. */
  empty_polls: number | null
  /** Messages of one sender in one conversation of agents within 10 minutes. Null: 60. */
  message_budget: number | null
  /** Days after which messages are removed. Null: 90. */
  retention_days: number | null
  /** Days after which audit records are removed. Null: 365. */
  audit_days: number | null
  /** When the row was made. */
  created_at: string
  /** When the row changed last. */
  updated_at: string
  /** When the project was deleted. If set, no request finds the project, and its rows are being removed. */
  deleted_at: string | null
}

/** Environments: where agents run. */
export interface EnvironmentRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** Unique in its project. */
  name: string
  /** The kind of machine. */
  kind: 'laptop' | 'server' | 'container' | 'ci' | 'other'
  /** Free text of the owner. */
  description: string
  /** When the row was made. */
  created_at: string
}

/** Agents. */
export interface AgentRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** Where it runs. Null: not given. */
  environment_id: string | null
  /** Unique in its project. */
  name: string
  /** The role in words of the owner. */
  role_name: string
  /** Free text of the owner. */
  description: string
  /** A part of the work instructions that the owner chose when the agent was created. May be empty. */
  prompt_template: string
  /** A part of the work instructions that the owner may change at any time. May be empty. */
  instructions: string
  /** When the instructions changed last. Null: never. */
  instructions_updated_at: string | null
  /** The node refuses the requests of a disabled agent and delivers nothing to it. */
  state: 'enabled' | 'disabled'
  /** Generation of its last session, 0 before the first. It only rises. */
  session_generation: number
  /** When the row was made. */
  created_at: string
}

/** Pairs of agents that may write to each other: one row per pair. */
export interface PairingRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The smaller of the two agent ids. */
  agent_a: string
  /** The greater of the two agent ids. */
  agent_b: string
  /** 0: the owner has disabled the pair. */
  enabled: 0 | 1
  /** When the pair was enabled or disabled last. */
  updated_at: string
}

/** Credentials by which agents prove who they are. */
export interface CredentialRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The agent that it belongs to. */
  agent_id: string
  /** Key: requests are signed. Device: signed and bound to a device. Legacy: a secret is sent. */
  binding: 'key' | 'device' | 'legacy'
  /** Ed25519 key as base64url. Null for legacy. */
  public_key: string | null
  /** The X-Bridge-Device value of the device. Null unless bound to one. */
  device: string | null
  /** SHA-256 of the secret. Null unless legacy. */
  secret_sha256: Buffer | null
  /** JSON: the list of scopes. */
  scopes: string
  /** SHA-256 of key or secret, as people compare it. */
  fingerprint: string
  /** When the row was made. */
  created_at: string
  /** Wall time, because the owner chose a date. Null: never. */
  expires_at: string | null
  /** Null while the credential is valid. */
  revoked_at: string | null
  /** Written when the session writes its contact, not at each request. */
  last_used_at: string | null
}

/** Enrolments: one-time codes by which an agent gets a credential. */
export interface EnrollmentRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The agent that the code is for. */
  agent_id: string
  /** SHA-256 of the code. */
  code_sha256: Buffer
  /** The kind of credential that the code gives. */
  binding: 'key' | 'device'
  /** JSON: the scopes of that credential. */
  scopes: string
  /** 0: the claim revokes the agent's earlier credentials. */
  keep_existing: 0 | 1
  /** Expiry is no state. It follows from `expires_at`. */
  state: 'pending' | 'claimed' | 'revoked'
  /** When the row was made. */
  created_at: string
  /** In steady time. */
  expires_at: string
  /** When the code was used. Null before. */
  claimed_at: string | null
  /** The credential that the claim made. */
  credential_id: string | null
}

/** Sessions of agents. An agent has at most one active session. */
export interface SessionRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The agent that it belongs to. */
  agent_id: string
  /** The credential that started it. */
  credential_id: string
  /** Random id that the client chose for its process. A client with the same id resumes the session. */
  instance_id: string
  /** Number among the sessions of the agent, from 1. */
  generation: number
  /** Fenced: a takeover, the owner or a restore ended it. Closed: the client ended it. */
  state: 'active' | 'fenced' | 'closed'
  /** Name of the client program, as it reports itself. */
  client_name: string
  /** Version of the client program. */
  client_version: string
  /** In steady time. */
  started_at: string
  /** In steady time. Written at most every 10 seconds. */
  last_contact_at: string
  /** Null while it is active. */
  ended_at: string | null
  /** The session that it took over from. */
  replaced_session_id: string | null
  /** SHA-256 of the takeover grant that started it. */
  grant_sha256: Buffer | null
  /** Schedule of its contacts, as the client reported. Null: none reported. */
  contact_mode: 'short_poll' | 'checkpoint' | null
  /** The interval of `short_poll`. */
  contact_interval_seconds: number | null
}

/** Challenges that the start of a device-bound session has to sign. Each can be used once. */
export interface ChallengeRow {
  /** SHA-256 of the challenge. */
  challenge_sha256: Buffer
  /** The credential that requested it. */
  credential_id: string
  /** The X-Bridge-Device value of that request. */
  device: string
  /** In steady time. */
  expires_at: string
}

/** Open takeover grants: at most one per agent. */
export interface TakeoverRow {
  /** The agent whose session may be taken over. */
  agent_id: string
  /** SHA-256 of the grant. */
  grant_sha256: Buffer
  /** In steady time. */
  expires_at: string
  /** The session that the takeover fenced. Null if none was active. */
  fenced_session_id: string | null
}

/** Conversations: one per pair of agents, and one per agent with the owner. */
export interface ConversationRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** Between two agents, or of an agent with the owner. */
  kind: 'peer' | 'owner'
  /** The smaller of the two agent ids; with the owner, the agent. */
  agent_a: string
  /** The greater of the two agent ids. Null with the owner. */
  agent_b: string | null
  /** Number of its newest message, 0 before the first. It only rises. */
  last_sequence: number
  /** Messages up to this number were removed by retention. */
  removed_through_sequence: number
  /** When the owner wrote last. In steady time. Earlier messages do not count against a sender's budget. */
  budget_from: string | null
  /** When the row was made. */
  created_at: string
}

/** Messages. */
export interface MessageRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The conversation that it belongs to. */
  conversation_id: string
  /** Number within the conversation, from 1. */
  sequence: number
  /** System: the service reports on a task or a transfer. */
  sender_kind: 'agent' | 'owner' | 'system'
  /**
   * The agent that wrote it. If the service wrote it, the other agent of the pair, so that the node withholds
   * it while the pair is disabled. Null for the owner.
   */
  sender_agent_id: string | null
  /** The name at that time. */
  sender_name: string
  /** Whether it is for an agent or for the owner. */
  recipient_kind: 'agent' | 'owner'
  /** The agent that it is for. If it is for the owner, the agent that wrote it. */
  recipient_agent_id: string
  /** The agent whose inbox holds it. Null if it is for the owner. */
  inbox_agent_id: string | null
  /** Kind of message. The service sends `task` and `transfer`. */
  type: 'question' | 'answer' | 'note' | 'result' | 'status' | 'task' | 'transfer'
  /** Plain text, or an age file in base64. */
  body: string
  /** Whether the body is text or sealed with age. */
  encoding: 'text' | 'age'
  /** Id of the message that it answers. */
  in_reply_to: string | null
  /** Id of the first message of its thread; its own if it is the first. */
  root_id: string
  /** Number of answers before it in its thread. */
  hops: number
  /** The task that the service reports on. */
  task_id: string | null
  /** The transfer that the service reports on. */
  transfer_id: string | null
  /** When the sender needs the answer. */
  expects_reply_by: string | null
  /** When it was stored. */
  created_at: string
  /** Number of times that it was offered. */
  offers: number
  /** Generation of the session that it was offered to last, 0 before the first offer. */
  offered_generation: number
  /** When it was offered for the first time. */
  first_offered_at: string | null
  /** In steady time. */
  last_offered_at: string | null
  /** Null while it is in the inbox. */
  acknowledged_at: string | null
  /** When somebody other than its sender answered it. Stored only if it expects a reply by a time. */
  answered_at: string | null
}

/** The number of unacknowledged messages of each agent, so that no request has to count them. */
export interface InboxRow {
  /** The agent whose inbox it is. */
  agent_id: string
  /** Number of messages that are not acknowledged. */
  waiting: number
}

/** The audit: one record per change. It never holds bodies or secrets. */
export interface AuditRow {
  /** Primary key. */
  id: string
  /** When the change was made. */
  at: string
  /** Noun and verb, such as `message.sent`. */
  kind: string
  /** Null for records of the installation. */
  project_id: string | null
  /** Kind of actor that made the change. */
  actor_kind: 'agent' | 'owner' | 'system' | 'anonymous'
  /** The agent or the person. Null for the service and for unauthenticated clients. */
  actor_id: string | null
  /** The name at that time. */
  actor_name: string
  /** The kind of thing that was changed. */
  subject_type: string
  /** The id of that thing. Null if it has none. */
  subject_id: string | null
  /** The X-Request-Id of the request. Null if no request caused it. */
  request_id: string | null
  /** JSON object; its fields depend on `kind`. */
  details: string
}

/** Kysely instance for queries, over a reader's snapshot or the transaction of one unit. */
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
  transfer_parts: TransferPartRow
  task_releases: TaskReleaseRow
  moved: MovedRow
  schema_migrations: MigrationRow
}
