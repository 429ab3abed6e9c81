/**
 * What an error of the SDK says to a person, and what it says to a program.
 *
 * A person is told what is wrong; method, path, code and request id are for programs, for `BRIDGE_DEBUG` and for logs.
 *
 * Contract §12.
 */
import type { BridgeError, LocalError, RefusalCode } from '../../sdk/index.ts'
import { exactDuration } from '../terminal/words.ts'
import { faultWords, nothingTyped, subjectOf, type Takes } from './field-words.ts'

export type SdkError = BridgeError | LocalError

const isRefusal = (error: Error): error is BridgeError => error.name === 'BridgeError'

/** `takes`: what the command takes that sent it, where it was sent just now. */
export function failureWords(error: Error, takes: Takes = nothingTyped): string {
  if (!isRefusal(error)) return error.message.replace(/^(GET|POST|PUT) \/\S+: /, '')
  const say = refusals[error.code]
  const words = say === undefined ? (faultWords(error, takes) ?? spoken(error.reason)) : say(error)
  // A sentence of the node may begin with the name of a field.
  return words.replace(/^[a-z]+(_[a-z]+)+(?= )/, (field) => subjectOf(field, takes))
}

/** Beside code and words: what a program can act on. */
export function failureFacts(error: SdkError): Record<string, unknown> {
  if (!isRefusal(error)) return {}
  const { requestId, retryAfterMs, details, status } = error
  return {
    status,
    request_id: requestId,
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
    ...(Object.keys(details).length > 0 && { details }),
  }
}

/** A sentence of the node in the voice of this program. */
export const spoken = (sentence: string): string =>
  sentence.replace(/^[A-Z](?=[a-z]|\s)/, (letter) => letter.toLowerCase()).replace(/\.$/, '')

/** Those that the catalogue words for whoever writes a client. */
const refusals: Partial<Record<RefusalCode, (error: BridgeError) => string>> = {
  clock_skew: ({ details }) =>
    `this machine's clock is not the node's${told(details.server_time, ', which says ')}`,
  rate_limited: ({ retryAfterMs: ms, reason }) =>
    ms === undefined
      ? spoken(reason)
      : `too many requests; wait ${exactDuration(Math.max(1, Math.ceil(ms / 1000)))}`,
  capacity_reached: ({ details, reason }) =>
    String(details.limit).endsWith('packages_bytes')
      ? spoken(reason)
      : `the node has reached a limit${told(details.limit, ': ')}`,
  not_found: ({ reason }) =>
    reason.startsWith('Unknown, or')
      ? 'there is nothing of that id, or it is not for this identity to see'
      : spoken(reason),
  body_too_large: ({ details }) =>
    `what is sent is longer than a request may be${told(details.limit_bytes, ', in bytes: ')}`,
  idempotency_conflict: () => 'this idempotency key was used for something else',
  device_mismatch: () => 'the identity is bound to another device',
}

const told = (value: unknown, before: string): string =>
  typeof value === 'string' || typeof value === 'number' ? `${before}${value}` : ''
