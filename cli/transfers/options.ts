/** What the `transfer` commands share. */
import type { Transfer } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import type { Output } from '../terminal/output.ts'

/** As in the contract; the public index is loaded only by commands that run. */
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

/** The transfer after a change: a line for a person, the wire object for a program. */
export function tellTransfer({ output }: CliContext, transfer: Transfer, what: string): void {
  output.result(transfer, `${what} ${transfer.id}: ${transfer.state}`)
}

/** What has come to its end by itself: the same command would end there again. */
const over: ReadonlySet<string> = new Set([
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

/** After a failure in which what came across is kept. */
export function tellHowToGoOn({ output }: CliContext, error: unknown, words: string): void {
  const code = (error as { readonly code?: unknown } | null)?.code
  if (typeof code === 'string' && over.has(code)) return
  output.next(`to go on: ${words}`)
}

/** Said by both sides whenever it is so, whatever was allowed before. */
export const tellPlain = (output: Output): void =>
  output.note('PLAIN HTTP: everybody on the network between reads this file and its token')
