/**
 * Rows of the node itself: its people, clocks, nonces, stored answers and load.
 *
 * `tables.ts` explains the comments.
 */

/** The installation. One row. */
export interface ServerRow {
  /** Always 1: the table holds one row. */
  one: 1
  /** Random id of the installation. It is part of every signed text. */
  server_id: string
  /** When the installation was made. */
  created_at: string
  /** Shows whether a node has the envelope key of the installation. Null before a node on PostgreSQL wrote it. */
  envelope_key_check: string | null
}

/** People who sign in: the owner, and administrators of single projects. */
export interface OwnerUserRow {
  /** Primary key. */
  id: string
  /** The name to sign in with. */
  name: string
  /**
   * The owner may do everything; there is one. An administrator sees the projects in
   * `project_administrators`.
   */
  role: 'owner' | 'administrator'
  /** scrypt hash as a PHC string. Empty before the person chooses a password; then no password matches. */
  password: string
  /** A disabled person cannot sign in. */
  state: 'enabled' | 'disabled'
  /** When the row was made. */
  created_at: string
  /** When name, password or state changed last. */
  updated_at: string
}

/** One-time links by which a person sets up the node or signs in. */
export interface OwnerLinkRow {
  /** SHA-256 of the token in the link. */
  token_sha256: Buffer
  /** Set-up of the node, or sign-in. */
  kind: 'setup' | 'sign_in'
  /** The person that it signs in. Null: the owner. */
  user_id: string | null
  /** When the link was made. */
  created_at: string
  /** In steady time. */
  expires_at: string
  /** Null while the link can be used. */
  used_at: string | null
}

/** The projects that each administrator may see and steer. */
export interface ProjectAdministratorRow {
  /** The administrator. */
  user_id: string
  /** The project that the administrator may steer. */
  project_id: string
  /** When the project was assigned. */
  created_at: string
}

/** Sessions of people: one per sign-in. */
export interface OwnerSessionRow {
  /** Primary key. */
  id: string
  /** The person who signed in. */
  user_id: string
  /** SHA-256 of the token in the cookie. */
  token_sha256: Buffer
  /** When the person signed in. */
  created_at: string
  /** In steady time. */
  last_used_at: string
  /** In steady time. */
  expires_at: string
  /** In steady time. Until then the node does not ask for the password again. */
  fresh_until: string
  /** The User-Agent header of the sign-in. */
  user_agent: string
  /** Null while the session is open. */
  ended_at: string | null
}

/** Nonces of proofs that were accepted, in the order in which they arrived. */
export interface NonceRow {
  /** The credential that signed. */
  credential_id: string
  /** First 16 bytes of the SHA-256 of the nonce. */
  nonce: Buffer
  /** Unix seconds of the proof. */
  signed_at: number
}

/** The date up to which every proof is refused. One row. */
export interface ReplayFloorRow {
  /** Always 1: the table holds one row. */
  one: 1
  /** Unix seconds. It only rises. */
  floor: number
}

/** Stored answers. If a request is repeated with its Idempotency-Key, the node answers the same bytes. */
export interface IdempotencyRow {
  /**
   * The project of a person's request, whose deletion removes the answer. Null for a request of an agent,
   * whose removal removes the answer.
   */
  project_id: string | null
  /** Id of the agent or the person that holds the key. */
  principal: string
  /** The HTTP method. */
  method: string
  /** Path template, such as `/api/v1/messages`. */
  route: string
  /** The Idempotency-Key. */
  key: string
  /** SHA-256 of target and body. A request with the same key and another fingerprint is a conflict. */
  fingerprint: Buffer
  /** The JSON of the answer. */
  answer: string
  /** In steady time. */
  created_at: string
}

/** The last run of maintenance. One row. */
export interface MaintenanceRow {
  /** Always 1: the table holds one row. */
  one: 1
  /**
   * When the run began. If the wall clock differs by more than a day from it, the first run of a process
   * removes nothing.
   */
  looked_at: string
}

/** The last reading of both clocks; see `steady-clock.ts`. One row. */
export interface SteadyClockRow {
  /** Always 1: the table holds one row. */
  one: 1
  /** Unix milliseconds of the wall clock. */
  wall_ms: number
  /** Milliseconds of the steady clock at that moment. */
  steady_ms: number
}

/** The token with which hosts report their load. One row. */
export interface TelemetryTokenRow {
  /** Always 1: the table holds one row. */
  one: 1
  /** SHA-256 of the token. */
  token_sha256: Buffer
  /** When the token was made. */
  created_at: string
}

/** The latest load sample of each host. */
export interface TelemetryHostRow {
  /** Name of the host, as it reports itself. */
  host: string
  /** When the host took the sample, in steady time. */
  sampled_at: string
  /** Load of all processors together, 0 to 100. */
  cpu_percent: number
  /** Memory in use on the host. */
  memory_used_bytes: number
  /** Memory of the host. */
  memory_total_bytes: number
  /** When the node received the sample. */
  received_at: string
}

/** The last move between two databases; see `moved.ts`. At most one row. */
export interface MovedRow {
  /** Always 1: the table holds one row. */
  one: 1
  /** Left: the installation is at `place` now. Arrived: it is here, and the source does not record that. */
  state: 'arrived' | 'left'
  /** Random id of the move, the same in source and target. */
  move_id: string
  /** The other side of the move: a data folder, or the URL of a database without its password. */
  place: string
  /** When the move was made. */
  at: string
}

/** Migrations that were applied to this database; see `migrate.ts`. */
export interface MigrationRow {
  /** Number of the migration, from 1. */
  number: number
  /** Name of the migration. */
  name: string
  /** When it was applied. */
  applied_at: string
}
