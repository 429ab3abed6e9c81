/**
 * Used nonces. They prevent that a proof is accepted twice, also after a kill or by a second process.
 *
 * - One INSERT accepts a proof. It inserts nothing if the nonce is stored, or if the proof is dated at or
 *   before the replay floor.
 * - The transaction that removes a nonce raises the floor to its date. So the node still refuses the proofs
 *   of removed nonces, even if the clock goes back.
 * - A purge removes the nonces dated before the purge line, which follows the window of valid proofs. The
 *   line moves at most twice as fast as monotonic time. So a clock that jumps ahead does not lock out honest
 *   clients, and the line still catches up after the machine slept.
 * - If the floor is missing, the nonces were lost or restored. The node then refuses proofs dated up to 30 s
 *   from now.
 *
 * Contract §3.
 */
import { hash } from 'node:crypto'
import { limits } from '../../sdk/contract/limits.ts'
import type { Tx } from './tx.ts'

/** Identifies a valid proof. */
export interface Nonce {
  readonly credentialId: string
  /** Text of the header. The node stores only a hash of it. */
  readonly nonce: string
  /** Unix seconds of the proof. */
  readonly signedAt: number
}

export interface Nonces {
  /** Returns the floor in Unix seconds. The node refuses proofs dated at or before it. */
  floor(): number
  /** Removes one batch of nonces dated before the purge line. Must be called again while `more` is true. */
  purge(tx: Tx): Promise<{ removed: number; more: boolean }>
}

const windowSeconds = limits.proofBackSeconds + limits.proofAheadSeconds

export const secondsOf = (instant: Date): number => Math.floor(instant.getTime() / 1000)

/** Returns the floor of a database whose nonces were lost or restored at this moment. */
export const floorAfterLoss = (now: Date): number => secondsOf(now) + limits.proofAheadSeconds

/** Returns what the database stores in place of the header's text. */
export const digestOf = (nonce: string): Buffer => hash('sha256', nonce, 'buffer').subarray(0, 16)

/** Returns a function that gives the purge line: nonces dated up to these Unix seconds may be removed. */
export function purgeLine(opened: Date, monotonicMs: () => number): (now: Date) => number {
  let line = secondsOf(opened) - windowSeconds
  let movedAtMs = monotonicMs()
  return (now) => {
    const elapsedMs = monotonicMs() - movedAtMs
    movedAtMs += elapsedMs
    line = Math.min(secondsOf(now) - windowSeconds, line + (2 * elapsedMs) / 1000)
    return line
  }
}
