/**
 * Interfaces of the parts of a Bridge that sending and receiving a file use: calls to the node, keys and
 * clocks.
 *
 * `bridge.transfers` implements {@link TransferCalls}. The interfaces are declared here, because
 * sdk/resources/transfers.ts loads the files of this folder and they must not import sdk/resources.
 */
import type { AgentAuthority } from '../agent/authority.ts'
import type { Directory } from '../agent/directory.ts'
import type { NodeClock } from '../agent/node-clock.ts'
import type { Bootstrap } from '../contract/agent/bootstrap.ts'
import type { RecipientKey } from '../contract/agent/peers.ts'
import type { Transfer, TransferInput, TransferReceipt, TransferSecret } from '../contract/agent/transfers.ts'
import type { Address } from '../transport/address.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'

/** Calls for sending and receiving. Each does the same as the method of `bridge.transfers` with its name. */
export interface TransferCalls {
  offer(input: TransferInput, options: KeyedOptions): Promise<Transfer>
  get(id: string, options?: CallOptions): Promise<Transfer>
  accept(id: string, options: CallOptions): Promise<Transfer>
  receipt(id: string, receipt: TransferReceipt, options?: CallOptions): Promise<Transfer>
  cleanup(id: string, options: CallOptions): Promise<Transfer>
  deposit(id: string, secret: TransferSecret, options: CallOptions): Promise<Transfer>
  secret(id: string, options: CallOptions): Promise<TransferSecret>
}

/** Parts of a Bridge, beside its calls, that sending and receiving use. */
export interface Moving {
  /** Looks up the recipient. */
  readonly directory: Directory
  /** Looks up the recipient's key, to which a file is sealed. */
  readonly recipientKeys: {
    ofConversation(conversationId: string, options: CallOptions): Promise<RecipientKey>
  }
  /** Reads whether the node takes transfers now. */
  readonly bootstrap: { get(options: CallOptions): Promise<Bootstrap> }
  /** Address of the node. `authority` signs each request to its package store. */
  readonly address: Address
  readonly authority: AgentAuthority
  readonly clock: () => Date
  /** Clock of the node, by which transfers and endpoints expire. */
  readonly nodeClock: NodeClock
  /** Whether the node has answered this program. Before, its address may be wrong. */
  readonly wasAnswered: () => boolean
  readonly random: (bytes: number) => Buffer
}

/** Everything that sending and receiving use of a Bridge. */
export interface TransferContext extends Moving {
  readonly transfers: TransferCalls
}
