/**
 * Describes an SDK error for people and for programs.
 *
 * People get what is wrong. Method, path, code and request id are for programs, for `BRIDGE_DEBUG` and for
 * logs.
 *
 * Contract §12.
 */
import type { BridgeError, LocalError, RefusalCode } from '../../sdk/index.ts'
import { type CurrentCommand, noCommand } from '../terminal/current-command.ts'
import { exactDuration } from '../terminal/words.ts'
import { faultWords, subjectOf } from './field-words.ts'

export type SdkError = BridgeError | LocalError

const isRefusal = (error: Error): error is BridgeError => error.name === 'BridgeError'

/**
 * Describes an error for people. `current` lists the options and arguments of the command that sent the
 * request.
 */
export function failureWords(error: Error, current: CurrentCommand = noCommand): string {
  if (!isRefusal(error)) return error.message.replace(/^(GET|POST|PUT) \/\S+: /, '')
  const say = refusals[error.code]
  const words = say === undefined ? (faultWords(error, current) ?? spoken(error.reason)) : say(error)
  // A sentence from the node may begin with the name of a field.
  return words.replace(/^[a-z]+(_[a-z]+)+(?= )/, (field) => subjectOf(field, current))
}

/** Returns the details of a refusal that a program can act on. */
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

/** Adapts a sentence from the node to the style of this program: lower case, no full stop. */
export const spoken = (sentence: string): string =>
  sentence.replace(/^[A-Z](?=[a-z]|\s)/, (letter) => letter.toLowerCase()).replace(/\.$/, '')

/** Own words for refusals whose text in the catalogue addresses authors of clients. */
const refusals: Partial<Record<RefusalCode, (error: BridgeError) => string>> = {
  clock_skew: ({ details }) =>
    `this machine's clock differs from the node's${appended(details.server_time, ', which shows ')}`,
  rate_limited: ({ retryAfterMs: ms, reason }) =>
    ms === undefined
      ? spoken(reason)
      : `too many requests; wait ${exactDuration(Math.max(1, Math.ceil(ms / 1000)))}`,
  capacity_reached: ({ details, reason }) =>
    ['packages_bytes', 'sender_packages_bytes', 'open_transfers'].includes(String(details.limit))
      ? spoken(reason)
      : `the node has reached a limit${appended(details.limit, ': ')}`,
  not_found: ({ reason }) =>
    reason.startsWith('The resource does not exist')
      ? 'nothing has that id, or this identity may not see it'
      : spoken(reason),
  body_too_large: ({ details }) =>
    `the request is too long${appended(details.limit_bytes, '; the limit in bytes is ')}`,
  idempotency_conflict: () => 'this idempotency key was used for another request',
  device_mismatch: () => 'the identity is bound to another device',
}

const appended = (value: unknown, before: string): string =>
  typeof value === 'string' || typeof value === 'number' ? `${before}${value}` : ''
