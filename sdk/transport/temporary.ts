/**
 * Whether a failure may pass without a change by a person: one row for each kind of work that is repeated.
 *
 * The rows differ on purpose. A row is wider, the less harm one more try does. See retry.ts for the pause before it, and
 * failures.ts for whether the failed request may have taken effect.
 */
import type { HelperErrorCode } from '../contract/helper/errors.ts'
import { innermostCode } from './answers.ts'
import { BridgeError, HelperError, LocalError, type LocalErrorCode, unanswered } from './failures.ts'

interface Temporary {
  /** Refusals of the node. */
  readonly refusal: (refusal: BridgeError) => boolean
  /** Codes of this machine. */
  readonly local: ReadonlySet<LocalErrorCode>
  /** Refusals of a direct helper. */
  readonly helper: ReadonlySet<HelperErrorCode>
}

const noCodes: ReadonlySet<never> = new Set()
const noAnswer: ReadonlySet<LocalErrorCode> = new Set(['unreachable', 'timeout'])

/** The node is overloaded or stopping. `request_replayed` means that a proxy sent the request twice. */
const nodeIsBusy = ({ code, status }: BridgeError) =>
  status >= 500 || status === 429 || code === 'request_replayed'

/** The catalogue allows another try, or the outcome is unknown. */
const mayBeRepeated = ({ retry, status }: BridgeError) => retry !== 'never' || status === 503

const rows = {
  /** One request that may be sent twice. After a timeout its whole time is used up, so the caller decides. */
  'repeatable request': {
    refusal: ({ code, status }) => code === 'rate_limited' || status === 503,
    local: new Set<LocalErrorCode>(['unreachable']),
    helper: noCodes,
  },
  /** One request that may have taken effect. A rate refusal did nothing. */
  'other request': { refusal: ({ code }) => code === 'rate_limited', local: noCodes, helper: noCodes },
  /**
   * Reading on and on, for hours. The network of a laptop changes: a sign-in portal redirects or shows its own certificate,
   * and later is gone.
   */
  reading: {
    refusal: nodeIsBusy,
    local: new Set<LocalErrorCode>([...noAnswer, 'bad_response', 'redirected', 'certificate_refused']),
    helper: noCodes,
  },
  /** Keeping a claim. The lease ends the tries, so every failure without an answer counts, and a paused project too. */
  claim: { refusal: mayBeRepeated, local: unanswered, helper: noCodes },
  /**
   * An entry of the outbox that the node refuses now and may take later. A fault of the node, or a filter in front of it,
   * may concern this one body only. So the entries after it are still tried.
   */
  'outbox entry': {
    refusal: ({ code, retry }) => retry === 'after-delay' || code === 'internal',
    local: new Set<LocalErrorCode>(['bad_response']),
    helper: noCodes,
  },
  /** One part of a file. The part runner counts these tries. */
  part: {
    refusal: mayBeRepeated,
    local: noAnswer,
    helper: new Set<HelperErrorCode>(['too_slow', 'storage_failed', 'internal']),
  },
  /** A call to the node while a helper serves a file. The bytes do not need the node, so it may be away. */
  serving: { refusal: ({ status }) => status === 503, local: noAnswer, helper: noCodes },
  /** An endpoint that has ended. The receiver waits for the next one of the sender. */
  endpoint: {
    refusal: () => false,
    local: new Set<LocalErrorCode>(['transfer_expired']),
    helper: new Set<HelperErrorCode>(['invalid_token', 'expired']),
  },
  /**
   * A helper that cannot be reached now, or the node that is asked for the next one. It may come back, or the sender
   * replaces it. Wrong bytes and an untrusted certificate are no accident.
   */
  helper: { refusal: ({ status }) => status === 503, local: noAnswer, helper: noCodes },
  /** A tunnel that comes up and answers with pages of its own until then. */
  tunnel: {
    refusal: () => false,
    local: new Set<LocalErrorCode>([...noAnswer, 'bad_response']),
    helper: noCodes,
  },
} as const satisfies Record<string, Temporary>

/** The kind of work that failed. */
export type Repeated = keyof typeof rows

/** Whether the same request may succeed later, as a failure of this kind of work. */
export function isTemporary(failure: unknown, of: Repeated): failure is Error {
  const row: Temporary = rows[of]
  if (failure instanceof BridgeError) return row.refusal(failure)
  if (failure instanceof HelperError) return failure.code !== 'unrecognized' && row.helper.has(failure.code)
  return failure instanceof LocalError && row.local.has(failure.code)
}

/** Whether no connection to the node was made, whatever it was for. A proxy may say so in the node's place. */
export const neverConnected = ({ code, cause }: LocalError): boolean =>
  code === 'unreachable' && (cause === undefined || connecting.has(innermostCode(cause) ?? ''))

const connecting: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])
