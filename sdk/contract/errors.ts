/**
 * The error catalogue: code → status, when a retry can help, meaning.
 *
 * A code is a fact about the protocol and never changes meaning. The server throws codes, one translator
 * (`server/http/errors.ts`) turns them into a status and a body, and clients switch on them.
 *
 * Spec §7; contract §2.
 */

/** When the same request may succeed later without anybody changing anything. */
export type Retry = 'never' | 'after-delay' | 'same-key'

export interface ErrorEntry {
  readonly status: 401 | 403 | 404 | 405 | 409 | 410 | 413 | 422 | 429 | 500 | 503
  /** `never`: asking again cannot help. `after-delay`: wait, then ask again. `same-key`: outcome unknown, retry with the same Idempotency-Key. */
  readonly retry: Retry
  readonly meaning: string
}

/** The catalogue: each code of a refusal with its status, when to try again, and what it means. */
export const errors = {
  unauthenticated: { status: 401, retry: 'never', meaning: 'No usable identity was presented.' },
  credential_unknown: { status: 401, retry: 'never', meaning: 'No such credential exists on this server.' },
  credential_revoked: {
    status: 401,
    retry: 'never',
    meaning: 'The credential was revoked. Stop; only the owner can enrol the agent again.',
  },
  credential_expired: { status: 401, retry: 'never', meaning: 'The credential reached its expiry.' },
  signature_invalid: { status: 401, retry: 'never', meaning: 'The proof does not match the request.' },
  signature_required: {
    status: 401,
    retry: 'never',
    meaning: 'This identity signs every request; a proof header is missing or has a wrong form.',
  },
  clock_skew: {
    status: 401,
    retry: 'never',
    meaning: 'X-Bridge-Time is outside the window. details.server_time tells the time to correct to.',
  },
  request_replayed: {
    status: 401,
    retry: 'never',
    meaning: 'This nonce was used before. Sign again with a fresh one.',
  },
  device_mismatch: {
    status: 401,
    retry: 'never',
    meaning: 'X-Bridge-Device does not name the device that was enrolled.',
  },
  challenge_invalid: {
    status: 401,
    retry: 'never',
    meaning: 'The session challenge is unknown, used, expired or of another identity.',
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
  scope_missing: { status: 403, retry: 'never', meaning: 'The credential does not hold the scope.' },
  agent_disabled: { status: 403, retry: 'never', meaning: 'The owner disabled this agent.' },
  not_permitted: { status: 403, retry: 'never', meaning: 'The caller may see this but not do it.' },
  reauth_required: {
    status: 403,
    retry: 'never',
    meaning: 'This action needs a sign-in or confirmation less than ten minutes old.',
  },

  not_found: { status: 404, retry: 'never', meaning: 'Unknown, or not accessible to the caller.' },
  method_not_allowed: { status: 405, retry: 'never', meaning: 'The path exists but not with this method.' },

  session_active: {
    status: 409,
    retry: 'never',
    meaning: 'Another instance of this agent holds a live session. Stop, or ask the owner for a takeover.',
  },
  session_fenced: {
    status: 409,
    retry: 'never',
    meaning: 'A newer session replaced this one. Stop; do not register again.',
  },
  session_closed: { status: 409, retry: 'never', meaning: 'This session was closed. Start a new one.' },
  session_unknown: { status: 409, retry: 'never', meaning: 'No such session belongs to this credential.' },
  takeover_pending: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The owner issued a takeover grant; a session starts only with it until it expires.',
  },
  idempotency_conflict: {
    status: 409,
    retry: 'never',
    meaning: 'This Idempotency-Key was already used with a different request.',
  },
  state_conflict: {
    status: 409,
    retry: 'never',
    meaning: 'The resource is in a state that does not allow this. details.state names it.',
  },
  claim_held: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The task is claimed; details.holder and details.expires_at tell by whom and until when.',
  },
  claim_lost: {
    status: 409,
    retry: 'never',
    meaning: 'The claim generation or session generation is stale. Stop the work.',
  },
  transfer_busy: {
    status: 409,
    retry: 'after-delay',
    meaning: 'Another upload of this package is under way. Retry within the lifetime of the transfer.',
  },
  recipient_key_conflict: {
    status: 409,
    retry: 'never',
    meaning: 'Another recipient key is registered; an administrator has to replace it.',
  },
  project_paused: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The project is paused: it reads, acknowledges and finishes, but starts nothing new.',
  },
  name_taken: { status: 409, retry: 'never', meaning: 'The name is in use.' },
  pairing_disabled: {
    status: 409,
    retry: 'after-delay',
    meaning: 'The owner disabled the pairing of these two agents.',
  },

  enrollment_used: {
    status: 410,
    retry: 'never',
    meaning: 'The enrolment code was used with another key. The owner has been told.',
  },
  enrollment_expired: { status: 410, retry: 'never', meaning: 'The enrolment code expired.' },
  enrollment_revoked: {
    status: 410,
    retry: 'never',
    meaning: 'The enrolment code was revoked or superseded.',
  },
  offer_expired: { status: 410, retry: 'never', meaning: 'The offer or its endpoint is over.' },
  package_removed: { status: 410, retry: 'never', meaning: "The package's bytes were removed." },
  project_archived: { status: 410, retry: 'never', meaning: 'The project is archived.' },
  setup_done: { status: 410, retry: 'never', meaning: 'The owner has already been set up.' },

  body_too_large: { status: 413, retry: 'never', meaning: 'The body is longer than details.limit_bytes.' },

  invalid_request: {
    status: 422,
    retry: 'never',
    meaning: 'A header, parameter or field is wrong; details.faults names each.',
  },
  receipt_mismatch: {
    status: 422,
    retry: 'never',
    meaning: 'Size or hash of the receipt differ from the offer.',
  },
  part_mismatch: {
    status: 422,
    retry: 'never',
    meaning: 'The bytes of a part differ from the offer in length or hash; nothing of them was kept.',
  },
  manifest_invalid: { status: 422, retry: 'never', meaning: 'The parts do not describe the file.' },

  rate_limited: { status: 429, retry: 'after-delay', meaning: 'Too many requests; wait retry_after_ms.' },
  wait_limit: { status: 429, retry: 'after-delay', meaning: 'Too many waiting reads for this session.' },
  conversation_budget: {
    status: 429,
    retry: 'never',
    meaning: 'The loop guard stopped this exchange. Stop; do not rephrase.',
  },

  internal: {
    status: 500,
    retry: 'same-key',
    meaning: 'A bug in the server. The request id finds it in the log.',
  },

  unavailable: {
    status: 503,
    retry: 'same-key',
    meaning: 'The outcome is unknown or the server is stopping. Retry with the same Idempotency-Key.',
  },
  capacity_reached: {
    status: 503,
    retry: 'after-delay',
    meaning: 'A limit is reached; details.limit names it.',
  },
  storage_full: { status: 503, retry: 'after-delay', meaning: 'The disk is full; nothing was stored.' },
} as const satisfies Record<string, ErrorEntry>

/** A code that the node refuses with. */
export type ErrorCode = keyof typeof errors
