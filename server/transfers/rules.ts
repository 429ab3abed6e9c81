/**
 * What may happen to a transfer: one total table, and who may do it.
 *
 * - Every state and every event has a cell: the next state, `same` where it has happened already, or the refusal.
 * - `clock` is the expiry of the whole transfer; only a state that is not final can meet it.
 * - What only an accepted transfer may do, and nothing changes by, is asked for with {@link requireState}.
 *
 * Contract §9.
 */
import { finalTransferStates, type TransferState } from '../../sdk/contract/agent/transfers.ts'
import { ApiError } from '../api-error.ts'
import type { TransferRow } from '../database/work-tables.ts'

export const transferEvents = ['accept', 'decline', 'receipt', 'fail', 'cancel', 'cleanup', 'expire'] as const
export type TransferEvent = (typeof transferEvents)[number]

/** Who causes an event. */
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
  /** It has happened: the same answer, and no second effect. */
  | { readonly same: true }
  /** The state stays; the side that reports is noted. */
  | { readonly noted: true }
  | { readonly refused: 'state_conflict' | 'offer_expired' }
  /** A final state has no deadline. */
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

/** The next state; undefined where nothing changes. @throws state_conflict, offer_expired */
export function decide(state: TransferState, event: TransferEvent): TransferState | undefined {
  const cell = transitions[state][event]
  if ('never' in cell) throw new Error(`a transfer that is ${state} cannot ${event}`)
  if ('refused' in cell) throw refusalOf(state, event)
  return 'next' in cell ? cell.next : undefined
}

/** For what changes no state: is the transfer in one of these? @throws state_conflict, offer_expired */
export function requireState(state: TransferState, allowed: readonly TransferState[], what: string): void {
  if (!allowed.includes(state)) throw refusalOf(state, what)
}

const refusalOf = (state: TransferState, what: string): ApiError =>
  new ApiError(state === 'expired' ? 'offer_expired' : 'state_conflict', {
    message: `The transfer is ${state}; ${what} is not possible any more or not yet.`,
    details: { state },
  })

/** @throws state_conflict */
export function requirePackage({ mode, state }: Pick<TransferRow, 'mode' | 'state'>): void {
  if (mode === 'package') return
  throw new ApiError('state_conflict', {
    message: 'This transfer is direct: its bytes do not go through the service.',
    details: { state },
  })
}

/** @throws package_removed */
export function requireThere({ state }: Pick<TransferRow, 'state'>): void {
  if (state === 'verified')
    throw new ApiError('package_removed', {
      message: 'The recipient has the file, so its bytes were removed.',
    })
}
