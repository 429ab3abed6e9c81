/** Requests that share one transaction, and their outcomes. */
import type { Nonce } from './nonces.ts'
import type { Touches } from './touches.ts'
import type { Tx } from './tx.ts'

export interface Request {
  readonly unit: (tx: Tx) => Promise<unknown>
  readonly nonce: Nonce | undefined
  /** As in `WriteOptions`. */
  readonly touches?: Touches | undefined
}

/** Result of one request of a committed group. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown; readonly effects: readonly (() => void)[] }
  | { readonly ok: false; readonly error: unknown }
