/** Output and states that the `transfer` commands share. */
import type { Transfer } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import type { Output } from '../terminal/output.ts'

/**
 * Copy of the states in sdk/contract. Help needs them, and importing the SDK would slow down every command.
 */
export const transferStates = [
  'offered',
  'accepted',
  'verified',
  'declined',
  'failed',
  'cancelled',
  'expired',
] as const

export const exampleTransfer = '01980000-0000-7000-8000-000000000003'

export interface TransferReasonOption {
  readonly reason?: string
}

/** Prints a changed transfer: one line for a person, the transfer object for a program. */
export function printTransfer({ output }: CliContext, transfer: Transfer, what: string): void {
  output.result(transfer, `${what} ${transfer.id}: ${transfer.state}`)
}

/** Errors that the same command would meet again. */
const permanent: ReadonlySet<string> = new Set([
  'integrity',
  'destination_exists',
  'transfer_expired',
  'state_conflict',
  'offer_expired',
  'package_removed',
  'not_found',
  'not_permitted',
  'not_sendable',
  'key_missing',
])

/** Prints the command that resumes a transfer after a failure, unless it would fail again. */
export function noteResume({ output }: CliContext, error: unknown, words: string): void {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (typeof code === 'string' && permanent.has(code)) return
  output.next(`to resume: ${words}`)
}

/** Warns about plain HTTP. Both sides print it for each such transfer, even if an option allowed it. */
export const warnPlainHttp = (output: Output): void =>
  output.note('PLAIN HTTP: anyone on the network in between can read this file and its token')
