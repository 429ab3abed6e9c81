/**
 * Rows of tasks and transfers, and of the keys to which files are sealed.
 *
 * `tables.ts` explains the comments.
 */

/**
 * Tasks: one piece of work for one agent. The columns `claim_*` describe the last claim, which may have
 * ended.
 */
export interface TaskRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The conversation that the messages about the task are written to. */
  conversation_id: string
  /** Whether an agent or the owner created the task. */
  creator_kind: 'agent' | 'owner'
  /** Null for the owner. */
  creator_agent_id: string | null
  /** The name at the time of creation. */
  creator_name: string
  /** The agent that the task is for. */
  assignee_agent_id: string
  /** One line for lists. */
  title: string
  /** The state; docs/states.md has the transitions. */
  state: 'open' | 'claimed' | 'cancel_requested' | 'completed' | 'failed' | 'declined' | 'cancelled'
  /** Number of claims so far. */
  attempts: number
  /** If the last allowed claim ends without a result, the task fails. */
  max_attempts: number
  /** Lifetime of a claim without a renewal. */
  claim_ttl_seconds: number
  /** Lifetime that the last claim asked for, if it did. The shorter one of both counts. */
  claim_own_ttl_seconds: number | null
  /** The date that the creator requested. The node does nothing when it passes. */
  due_at: string | null
  /** Number of the last claim, 0 before the first. A request of an earlier claim is refused. */
  claim_generation: number
  /** The session that made the last claim. */
  claim_session_id: string | null
  /** Generation of that session. */
  claim_session_generation: number | null
  /** When the last claim was made. */
  claimed_at: string | null
  /** In steady time. Null while no claim is held. */
  claim_ends_at: string | null
  /** How the last claim ended. Null while it is held, and before the first. */
  claim_end: 'finished' | 'released' | 'expired' | null
  /** When the creator or the owner cancelled the task. Null otherwise. */
  cancel_requested_at: string | null
  /** Whether an agent or the owner cancelled the task. */
  cancelled_by_kind: 'agent' | 'owner' | null
  /** Null for the owner. */
  cancelled_by_agent_id: string | null
  /** The name at that time. */
  cancelled_by_name: string | null
  /** Reason that was given for cancelling. */
  cancel_reason: string | null
  /** When the assignee confirmed that it stopped. */
  stop_confirmed_at: string | null
  /** The last report of the assignee. */
  progress_note: string | null
  /** The percentage of that report, if it gave one. */
  progress_percent: number | null
  /** When that report was made. Null before the first. */
  progress_at: string | null
  /** Null while the task has no outcome. */
  outcome_kind: 'completed' | 'failed' | 'attempts_exhausted' | 'declined' | null
  /** When the outcome was reached. */
  outcome_at: string | null
  /** When the row was made. */
  created_at: string
  /** When the row changed last. */
  updated_at: string
  /** The work to be done, in the words of the creator. */
  instructions: string
  /** The text that the assignee ended the task with. */
  outcome_result: string | null
  /** JSON: the list of evidence for the result. */
  outcome_evidence: string | null
  /** The final state of the task, null before. Lists select by it. */
  ended: 'completed' | 'failed' | 'declined' | 'cancelled' | null
}

/** Reasons given when claims were released. */
export interface TaskReleaseRow {
  /** The task. */
  task_id: string
  /** The claim that was released. */
  claim_generation: number
  /** The reason that the assignee gave. */
  reason: string
}

/** Transfers: one file from one agent to another, as a package on the node or directly. */
export interface TransferRow {
  /** Primary key. */
  id: string
  /** The project that it belongs to. */
  project_id: string
  /** The conversation that the messages about the transfer are written to. */
  conversation_id: string
  /** The agent that offers the file. */
  sender_agent_id: string
  /** The agent that the file is for. */
  recipient_agent_id: string
  /** The name that the sender gave the file, without a path. */
  filename: string
  /** Bytes of the file as it is transferred, after sealing if it is sealed. */
  size: number
  /** SHA-256 of those bytes, in hexadecimal. */
  sha256: string
  /** Package: the node stores the bytes. Direct: a helper of the sender serves them. */
  mode: 'package' | 'direct'
  /** Whether the bytes are sealed to the recipient with age. */
  encryption: 'none' | 'age'
  /** The state; docs/states.md has the transitions. */
  state: 'offered' | 'accepted' | 'verified' | 'declined' | 'failed' | 'cancelled' | 'expired'
  /**
   * End of its lifetime as wall time, as computed at the offer. After the transfer ended, the last expiry
   * that was shown.
   */
  expires_at: string
  /** In steady time. Null once the transfer has ended. */
  ends_at: string | null
  /** Bytes that the package reserves in the node's store until its bytes are removed. */
  reserved_bytes: number
  /** Number of parts that the node has stored. */
  stored_parts: number
  /** When the node had verified the whole package. */
  stored_at: string | null
  /** When the node had removed the bytes of the package. */
  removed_at: string | null
  /** When the recipient confirmed that it has the file. */
  receipt_at: string | null
  /** When the sender reported that its copy for sending is gone. */
  cleanup_sender_at: string | null
  /** When the recipient reported that its copy of the sealed bytes is gone. */
  cleanup_recipient_at: string | null
  /** When the row was made. */
  created_at: string
  /** When the row changed last. */
  updated_at: string
  /** JSON: size and SHA-256 of each part. Lists do not read it. */
  parts: string
}

/**
 * Endpoint and token of the helper that serves a direct transfer. They are destroyed when they expire or the
 * transfer ends.
 */
export interface TransferSecretRow {
  /** The transfer. */
  transfer_id: string
  /** The project that it belongs to. */
  project_id: string
  /** Id of the agent that deposited them. */
  deposited_by: string
  /** Endpoint and token, encrypted with the envelope key. Empty once they have expired. */
  sealed: Buffer
  /** In steady time. */
  expires_at: string
}

/** A part of a package that an object store holds. The object is named by the hash of the part. */
export interface TransferPartRow {
  /** The transfer. */
  transfer_id: string
  /** Index of the part in the manifest. */
  part: number
  /** The project that it belongs to. */
  project_id: string
}

/** The age key to which files and messages for each agent are sealed. */
export interface RecipientKeyRow {
  /** The agent that holds the private key. */
  agent_id: string
  /** The public age key. */
  recipient: string
  /** SHA-256 of the key, as people compare it. */
  fingerprint: string
  /** When the key was registered. */
  registered_at: string
  /** Whether the agent or the owner registered it. */
  registered_by: 'agent' | 'owner'
}
