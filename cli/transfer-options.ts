/** What the `transfer` commands share. */
import type { Transfer } from '../sdk/index.ts'
import type { CliContext } from './context.ts'

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
