/**
 * Error catalogue: for each code its HTTP status, whether a retry can help, and its meaning.
 *
 * A code never changes its meaning. The server throws an error with a code, `server/http/errors.ts` turns it
 * into a status and a body, and clients switch on the code.
 *
 * Spec §7; contract §2.
 */

/**
 * Whether the same request can succeed later without a change by a person. The values are explained at {@link
 * ErrorEntry.retry}.
 */
export type Retry = 'never' | 'after-delay' | 'same-key'

export interface ErrorEntry {
  readonly status: 401 | 403 | 404 | 405 | 409 | 410 | 413 | 422 | 429 | 500 | 503
  /**
   * - `never`: a retry cannot help.
   * - `after-delay`: wait, then retry.
   * - `same-key`: the outcome is unknown, so retry with the same Idempotency-Key.
   */
  readonly retry: Retry
  readonly meaning: string
}

/** The error catalogue: the HTTP status, retry rule and meaning of each code that the node answers. */
export const errors = {
  unauthenticated: { status: 401, retry: 'never', meaning: 'The request carries no usable credentials.' },
  credential_unknown: { status: 401, retry: 'never', meaning: 'This server does not know the credential.' },
  credential_revoked: {
    status: 401,
    retry: 'never',
    meaning: 'The credential was revoked. Stop: only the owner can enrol the agent again.',
  },
  credential_expired: { status: 401, retry: 'never', meaning: 'The credential has expired.' },
  signature_invalid: { status: 401, retry: 'never', meaning: 'The signature does not match the request.' },
  signature_required: {
    status: 401,
    retry: 'never',
    meaning: 'The credential requires signed requests, and a signature header is missing or malformed.',
  },
  clock_skew: {
    status: 401,
    retry: 'never',
    meaning:
      "X-Bridge-Time differs too much from the server's clock. Correct the clock by details.server_time.",
  },
  request_replayed: {
    status: 401,
    retry: 'never',
    meaning: 'The nonce was used before. Sign the request again with a new nonce.',
  },
  device_mismatch: {
    status: 401,
    retry: 'never',
    meaning: 'X-Bridge-Device does not name the enrolled device.',
  },
  challenge_invalid: {
    status: 401,
    retry: 'never',
    meaning: 'The session challenge is unknown, used, expired or was issued for another credential.',
  },
  grant_invalid: {
    status: 401,
    retry: 'never',
    meaning: 'The takeover grant is unknown, used, voided or expired.',
  },
  sign_in_failed: { status: 401, retry: 'never', meaning: 'The name, password or link is wrong.' },
  owner_session_expired: {
    status: 401,
    retry: 'never',
    meaning: 'The owner session is missing, expired or revoked. Sign in again.',
  },

  origin_mismatch: {
    status: 403,
    retry: 'never',
    meaning: 'The Origin header is not exactly the configured portal origin.',
  },
  scope_missing: { status: 403, retry: 'never', meaning: 'The credential lacks the required scope.' },
  agent_disabled: { status: 403, retry: 'never', meaning: 'The owner disabled this agent.' },
  not_permitted: {
    status: 403,
    retry: 'never',
    meaning: 'The caller may read this resource but not do this with it.',
  },
  reauth_required: {
    status: 403,
    retry: 'never',
    meaning: 'This action needs a sign-in or confirmation less than ten minutes old.',
  },

  not_found: {
    status: 404,
    retry: 'never',
    meaning: 'The resource does not exist, or the caller may not see it.',
  },
  method_not_allowed: {
    status: 405,
    retry: 'never',
    meaning: 'The path does not support this method. The Allow header lists those it supports.',
  },

  session_active: {
    status: 409,
    retry: 'never',
    meaning: 'Another instance of this agent has an active session. Stop, or ask the owner for a takeover.',
  },
  session_fenced: {
    status: 409,
    retry: 'never',
    meaning: 'A newer session replaced this one. Stop, and do not start another session.',
  },
  session_closed: { status: 409, retry: 'never', meaning: 'This session was closed. Start a new one.' },
  session_unknown: {
    status: 409,
    retry: 'never',
    meaning: 'The session does not exist or belongs to another credential.',
  },
  takeover_pending: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The owner issued a takeover grant. Until it expires, only its holder can start a session.',
  },
  idempotency_conflict: {
    status: 409,
    retry: 'never',
    meaning: 'This Idempotency-Key was already used with a different request.',
  },
  state_conflict: {
    status: 409,
    retry: 'never',
    meaning:
      'The current state of the resource does not allow this. details.state, or another of its fields, names the state.',
  },
  claim_held: {
    status: 409,
    retry: 'after-delay',
    meaning:
      'The task is already claimed. details.holder names the holder, details.expires_at the end of the claim.',
  },
  claim_lost: {
    status: 409,
    retry: 'never',
    meaning: 'The claim generation or session generation is stale. Stop the work.',
  },
  transfer_busy: {
    status: 409,
    retry: 'after-delay',
    meaning: 'Another upload of this package is in progress. Retry before the transfer expires.',
  },
  recipient_key_conflict: {
    status: 409,
    retry: 'never',
    meaning: 'Another recipient key is registered. Only the owner or an administrator can replace it.',
  },
  project_paused: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The project is paused. Agents can read, acknowledge and finish work, but start nothing new.',
  },
  name_taken: { status: 409, retry: 'never', meaning: 'The name is already in use.' },
  pairing_disabled: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The owner disabled the pairing of these two agents.',
  },

  enrollment_used: {
    status: 410,
    retry: 'never',
    meaning: 'The enrolment code was already used with another key. The owner has been notified.',
  },
  enrollment_expired: { status: 410, retry: 'never', meaning: 'The enrolment code expired.' },
  enrollment_revoked: {
    status: 410,
    retry: 'never',
    meaning: 'The enrolment code was revoked, or replaced by a newer one.',
  },
  offer_expired: {
    status: 410,
    retry: 'never',
    meaning: 'The offer has expired, or its endpoint is no longer available.',
  },
  package_removed: { status: 410, retry: 'never', meaning: 'The node has deleted the bytes of the package.' },
  project_archived: { status: 410, retry: 'never', meaning: 'The project is archived.' },
  setup_done: { status: 410, retry: 'never', meaning: 'The owner has already been set up.' },

  body_too_large: { status: 413, retry: 'never', meaning: 'The body is longer than details.limit_bytes.' },

  invalid_request: {
    status: 422,
    retry: 'never',
    meaning: 'A header, parameter or field is invalid. details.faults names each of them.',
  },
  receipt_mismatch: {
    status: 422,
    retry: 'never',
    meaning: 'Size or hash in the receipt differ from the offer.',
  },
  part_mismatch: {
    status: 422,
    retry: 'never',
    meaning: 'The uploaded part differs from the offer in length or hash. The node discarded it.',
  },
  manifest_invalid: { status: 422, retry: 'never', meaning: 'The list of parts does not match the file.' },

  rate_limited: { status: 429, retry: 'after-delay', meaning: 'Too many requests. Wait retry_after_ms.' },
  wait_limit: {
    status: 429,
    retry: 'after-delay',
    meaning: 'Too many long-polls or streams are open in this session.',
  },
  conversation_budget: {
    status: 429,
    retry: 'never',
    meaning:
      'The loop guard stopped this conversation: too many messages. Stop, and do not send them in other words.',
  },

  internal: {
    status: 500,
    retry: 'same-key',
    meaning: 'The server failed because of a bug. Find the cause in its log by the request id.',
  },

  unavailable: {
    status: 503,
    retry: 'same-key',
    meaning: 'The outcome is unknown or the server is stopping. Retry with the same Idempotency-Key.',
  },
  capacity_reached: {
    status: 503,
    retry: 'after-delay',
    meaning: 'The node reached a limit, which details.limit names.',
  },
  storage_full: {
    status: 503,
    retry: 'after-delay',
    meaning: "The node's disk is full, and nothing was stored.",
  },
} as const satisfies Record<string, ErrorEntry>

/** Error code that the node answers. */
export type ErrorCode = keyof typeof errors
