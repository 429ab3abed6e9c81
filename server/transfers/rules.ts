/**
 * Rules of transfers: one complete transition table, and the party that may cause each event.
 *
 * - Every state has a cell for every event: the next state, `same` if the event has happened already, or the
 *   refusal.
 * - `clock` causes the expiry of the whole transfer, which only states that are not final can have.
 * - Operations that need a state but do not change it call {@link requireState}.
 *
 * When a transfer is `offered`: the recipient may accept or decline it, and either side may cancel it.
 * When a transfer is `accepted`: bytes move until a matching receipt makes it `verified`. Either side may cancel
 * it or report a failure.
 * The other states are final: each side may only report its cleanup.
 *
 * Contract §9.
 */
import { finalTransferStates, type TransferState } from '../../sdk/contract/agent/transfers.ts'
import { ApiError } from '../api-error.ts'
import type { TransferRow } from '../database/work-tables.ts'

export const transferEvents = ['accept', 'decline', 'receipt', 'fail', 'cancel', 'cleanup', 'expire'] as const
export type TransferEvent = (typeof transferEvents)[number]

/** The party that causes an event. */
export type Cause = 'recipient' | 'either' | 'clock'

export const causes: Record<TransferEvent, Cause> = {
  accept: 'recipient',
  decline: 'recipient',
  receipt: 'recipient',
  fail: 'either',
  cancel: 'either',
  cleanup: 'either',
  expire: 'clock',
}

export type Cell =
  | { readonly next: TransferState }
  /** The event has happened already: same answer, no second effect. */
  | { readonly same: true }
  /** The state stays the same; the reporting side is recorded. */
  | { readonly noted: true }
  | { readonly refused: 'state_conflict' | 'offer_expired' }
  /** Cannot happen: a final state has no expiry. */
  | { readonly never: true }

const to = (next: TransferState): Cell => ({ next })
const same: Cell = { same: true }
const noted: Cell = { noted: true }
const never: Cell = { never: true }
const conflict: Cell = { refused: 'state_conflict' }
const tooLate: Cell = { refused: 'offer_expired' }

const final: Record<TransferEvent, Cell> = {
  accept: conflict,
  decline: conflict,
  receipt: conflict,
  fail: conflict,
  cancel: conflict,
  cleanup: noted,
  expire: never,
}

export const transitions: Record<TransferState, Record<TransferEvent, Cell>> = {
  offered: {
    accept: to('accepted'),
    decline: to('declined'),
    receipt: conflict,
    fail: conflict,
    cancel: to('cancelled'),
    cleanup: conflict,
    expire: to('expired'),
  },
  accepted: {
    accept: same,
    decline: conflict,
    receipt: to('verified'),
    fail: to('failed'),
    cancel: to('cancelled'),
    cleanup: conflict,
    expire: to('expired'),
  },
  verified: { ...final, receipt: same },
  declined: { ...final, decline: same },
  failed: { ...final, fail: same },
  cancelled: { ...final, cancel: same },
  expired: {
    accept: tooLate,
    decline: tooLate,
    receipt: tooLate,
    fail: tooLate,
    cancel: tooLate,
    cleanup: noted,
    expire: never,
  },
}

export const isFinal = (state: TransferState): boolean => finalTransferStates.has(state)

/**
 * Returns the next state, or undefined if the state does not change. @throws state_conflict, offer_expired
 */
export function decide(state: TransferState, event: TransferEvent): TransferState | undefined {
  const cell = transitions[state][event]
  if ('never' in cell) throw new Error(`a transfer that is ${state} cannot ${event}`)
  if ('refused' in cell) throw refusalOf(state, event)
  return 'next' in cell ? cell.next : undefined
}

/**
 * Requires one of these states, for operations that do not change the state. @throws state_conflict,
 * offer_expired
 */
export function requireState(state: TransferState, allowed: readonly TransferState[], what: string): void {
  if (!allowed.includes(state)) throw refusalOf(state, what)
}

const refusalOf = (state: TransferState, what: string): ApiError =>
  new ApiError(state === 'expired' ? 'offer_expired' : 'state_conflict', {
    message: `The transfer is ${state}, so ${what} is not possible.`,
    details: { state },
  })

/** @throws state_conflict */
export function requirePackage({ mode, state }: Pick<TransferRow, 'mode' | 'state'>): void {
  if (mode === 'package') return
  throw new ApiError('state_conflict', {
    message: 'This transfer is direct. Its bytes do not go through the service.',
    details: { state },
  })
}

/** @throws package_removed */
export function requireNotRemoved({ state }: Pick<TransferRow, 'state'>): void {
  if (state === 'verified')
    throw new ApiError('package_removed', {
      message: 'The recipient has received the file, so its bytes were removed.',
    })
}
