/**
 * The parts of a Bridge that move the bytes of a transfer: the calls of the node, and clocks.
 *
 * `bridge.transfers` implements {@link TransferCalls}. The interface stands here so that the files of this folder import
 * nothing of sdk/resources/transfers.ts, which loads them.
 */
import type { AgentAuthority } from '../agent/authority.ts'
import type { Directory } from '../agent/directory.ts'
import type { NodeClock } from '../agent/node-clock.ts'
import type { Transfer, TransferInput, TransferReceipt, TransferSecret } from '../contract/agent/transfers.ts'
import type { BootstrapReader } from '../resources/bootstrap.ts'
import type { RecipientKeys } from '../resources/recipient-keys.ts'
import type { Address } from '../transport/address.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'

/** The calls of sending and receiving. Each does what the method of `bridge.transfers` with its name does. */
export interface TransferCalls {
  offer(input: TransferInput, options: KeyedOptions): Promise<Transfer>
  get(id: string, options?: CallOptions): Promise<Transfer>
  accept(id: string, options: CallOptions): Promise<Transfer>
  receipt(id: string, receipt: TransferReceipt, options?: CallOptions): Promise<Transfer>
  cleanup(id: string, options: CallOptions): Promise<Transfer>
  deposit(id: string, secret: TransferSecret, options: CallOptions): Promise<Transfer>
  secret(id: string, options: CallOptions): Promise<TransferSecret>
}

/** The other parts of a Bridge that moving bytes uses. */
export interface Moving {
  /** Looks up the recipient. */
  readonly directory: Directory
  /** Look up the key to seal to. */
  readonly recipientKeys: RecipientKeys
  /** Reads whether the node takes transfers now. */
  readonly bootstrap: BootstrapReader
  /** The address of the node, and the proof of each request to its package store. */
  readonly address: Address
  readonly authority: AgentAuthority
  readonly clock: () => Date
  /** The time by which transfers and endpoints expire. */
  readonly nodeClock: NodeClock
  readonly random: (bytes: number) => Buffer
}

/** Everything that sending and receiving use of a Bridge. */
export interface TransferContext extends Moving {
  readonly transfers: TransferCalls
}
