/** Name and message of a failure for the log. */
import { oneLine } from '../../sdk/plain-text.ts'

export interface Failure {
  readonly code: string
  readonly message: string
}

/** Codes of refusals and of local errors, else the exit name of a command's error, else that of the platform. */
export function failureOf(error: unknown): Failure {
  const { code, exit, message } = (error ?? {}) as { code?: unknown; exit?: unknown; message?: unknown }
  const name = [code, exit].find((each) => typeof each === 'string') ?? 'unexpected'
  return { code: String(name), message: oneLine(String(message ?? error)).slice(0, 200) }
}

/** Failures that end a waiter: only a person can repair them. */
const lasting: ReadonlySet<string> = new Set([
  'session_fenced',
  'takeover_pending',
  'session_closed',
  'unauthenticated',
  'credential_unknown',
  'credential_revoked',
  'credential_expired',
  'device_mismatch',
  'signature_invalid',
  'scope_missing',
  'agent_disabled',
  'project_archived',
  'identity_missing',
  'identity_unreadable',
  'authentication',
  'sandbox_blocked',
  'insecure_url',
  'invalid_url',
])

export const isLasting = (error: unknown): boolean => lasting.has(failureOf(error).code)
