/**
 * Exit codes, which tell the calling program why a command ended. Frozen by test/cli/exit-codes.test.ts.
 *
 * Contract §12.
 */
import type { HelperErrorCode, LocalErrorCode, RefusalCode } from '../sdk/index.ts'

export const exitCodes = {
  done: 0,
  unexpected: 1,
  usage: 2,
  not_found: 3,
  /** Timed out, nothing came. */
  nothing_came: 4,
  /** Authentication or revoked. */
  authentication: 5,
  /** Session fenced or held elsewhere. */
  session: 6,
  conflict: 7,
  /** Stop: a rate or loop guard. */
  guard: 8,
  /** Node unreachable, kept in the outbox. */
  unreachable: 9,
  /** Stored but nobody listening. */
  nobody_listening: 10,
  claim_lost: 11,
  already_listening: 12,
  /** The sandbox blocks the network. */
  sandbox: 13,
  clock_skew: 14,
  /** Hash or length differs. */
  integrity: 15,
  interrupted: 130,
} as const
export type ExitName = keyof typeof exitCodes
export type ExitCode = (typeof exitCodes)[ExitName]

/** Failure that this program found, not the node: a message, an exit code and at most one hint. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exit: ExitName
  readonly hint: string | undefined

  constructor(exit: ExitName, message: string, options: { hint?: string | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.exit = exit
    this.hint = options.hint
  }
}

/** Exit code of each refusal by the node. */
export const refusalExits: Readonly<Record<RefusalCode, ExitName>> = {
  unrecognized: 'unexpected',
  unauthenticated: 'authentication',
  credential_unknown: 'authentication',
  credential_revoked: 'authentication',
  credential_expired: 'authentication',
  signature_invalid: 'authentication',
  signature_required: 'authentication',
  clock_skew: 'clock_skew',
  request_replayed: 'authentication',
  device_mismatch: 'authentication',
  challenge_invalid: 'authentication',
  grant_invalid: 'authentication',
  sign_in_failed: 'authentication',
  owner_session_expired: 'authentication',
  origin_mismatch: 'authentication',
  scope_missing: 'authentication',
  agent_disabled: 'authentication',
  not_permitted: 'authentication',
  reauth_required: 'authentication',
  not_found: 'not_found',
  method_not_allowed: 'unexpected',
  session_active: 'session',
  session_fenced: 'session',
  session_closed: 'session',
  session_unknown: 'session',
  takeover_pending: 'session',
  idempotency_conflict: 'conflict',
  state_conflict: 'conflict',
  claim_held: 'conflict',
  claim_lost: 'claim_lost',
  recipient_key_conflict: 'conflict',
  project_paused: 'conflict',
  name_taken: 'conflict',
  pairing_disabled: 'conflict',
  enrollment_used: 'authentication',
  enrollment_expired: 'authentication',
  enrollment_revoked: 'authentication',
  offer_expired: 'conflict',
  package_removed: 'conflict',
  project_archived: 'conflict',
  setup_done: 'conflict',
  body_too_large: 'usage',
  invalid_request: 'usage',
  part_mismatch: 'integrity',
  transfer_busy: 'conflict',
  receipt_mismatch: 'integrity',
  manifest_invalid: 'usage',
  rate_limited: 'guard',
  wait_limit: 'guard',
  conversation_budget: 'guard',
  internal: 'unexpected',
  unavailable: 'unreachable',
  capacity_reached: 'unreachable',
  storage_full: 'unreachable',
}

/** Exit code of each error that the SDK itself raises. */
export const localExits: Readonly<Record<LocalErrorCode, ExitName>> = {
  unreachable: 'unreachable',
  timeout: 'unreachable',
  aborted: 'interrupted',
  bad_response: 'unreachable',
  redirected: 'unreachable',
  certificate_refused: 'unreachable',
  sandbox_blocked: 'sandbox',
  invalid_url: 'usage',
  insecure_url: 'usage',
  identity_missing: 'authentication',
  identity_unreadable: 'authentication',
  storage_failed: 'unexpected',
  entry_of_another: 'conflict',
  peer_unknown: 'not_found',
  name_unknown: 'not_found',
  name_ambiguous: 'usage',
  not_asked: 'usage',
  no_answer: 'nothing_came',
  task_unfinished: 'nothing_came',
  capability_off: 'unreachable',
  not_sendable: 'usage',
  integrity: 'integrity',
  destination_exists: 'conflict',
  transfer_in_use: 'conflict',
  key_missing: 'authentication',
  transfer_expired: 'conflict',
}

/**
 * Exit code of each refusal by a transfer helper. Any other code concerns its state and exits as `conflict`.
 */
export const helperExits: Readonly<Partial<Record<HelperErrorCode | 'unrecognized', ExitName>>> = {
  invalid_token: 'authentication',
  not_found: 'not_found',
  hash_mismatch: 'integrity',
  length_mismatch: 'integrity',
  file_changed: 'integrity',
  storage_failed: 'unreachable',
  internal: 'unexpected',
  unrecognized: 'unexpected',
}
