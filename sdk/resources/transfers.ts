/** Offers of files, and what becomes of them. Contract §9. */
import {
  transfers as entries,
  type Transfer,
  type TransferInput,
  type TransferList,
  type TransferReceipt,
  type TransferRole,
  type TransferSecret,
  type TransferState,
  type TransferSummary,
} from '../contract/agent/transfers.ts'
import { limits } from '../contract/limits.ts'
import { asId } from '../names.ts'
import type { Moving, TransferCalls, TransferContext } from '../transfers/calls.ts'
import type { ServeOptions, ServingHelper } from '../transfers/direct.ts'
import type { ReceivedFile, ReceiveFileOptions } from '../transfers/receive.ts'
import type { ResumeOptions, SendFileOptions } from '../transfers/send.ts'
import type { AtWork } from '../transfers/tidy.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from './call.ts'

export interface TransferFilter {
  readonly state?: TransferState | undefined
  readonly role?: TransferRole | undefined
}

/** An offer with its recipient: a peer by id or name. */
export interface OutgoingTransfer extends Omit<TransferInput, 'conversation_id'> {
  readonly conversation_id?: string | undefined
}

interface Reasoned {
  readonly reason?: string | undefined
}

export class Transfers implements TransferCalls {
  readonly #call: Call
  readonly #moving: Moving

  constructor(call: Call, moving: Moving) {
    this.#call = call
    this.#moving = moving
  }

  /**
   * Offer a file to a peer and upload it to the service's package store. Resolves once the service has verified it; that
   * the recipient has it, its receipt tells.
   *
   * @throws LocalError `capability_off` where the node takes no such transfer now, `not_sendable` for a name or length that
   *   no transfer has, `peer_unknown`, `unreachable`; BridgeError as `offer`. After `onOffered`, {@link resume} goes on with what is missing.
   */
  async send(path: string, options: SendFileOptions): Promise<Transfer> {
    return (await import('../transfers/send.ts')).sendFile(this.#context, path, options)
  }

  /** Go on with an upload: what the service has already is not sent again. @throws LocalError `integrity` for another file */
  async resume(id: string, path: string, options: ResumeOptions = {}): Promise<Transfer> {
    return (await import('../transfers/send.ts')).resumeSending(this.#context, id, path, options)
  }

  /**
   * Accept an offer, wait for its upload, fetch and verify it, and send the receipt. Called again after a failure it goes
   * on with what is missing.
   *
   * @throws LocalError `integrity` when other bytes came, `destination_exists`, `transfer_expired`; BridgeError
   */
  async receive(id: string, destination: string, options: ReceiveFileOptions = {}): Promise<ReceivedFile> {
    return (await import('../transfers/receive.ts')).receiveFile(this.#context, id, destination, options)
  }

  /** Serve a direct transfer of the caller until it is over; `start` runs a helper. @throws LocalError `aborted`, `unreachable` */
  async serve(
    id: string,
    start: () => Promise<ServingHelper>,
    options: ServeOptions = {},
  ): Promise<Transfer> {
    return (await import('../transfers/direct.ts')).serveDirect(this.#context, id, start, options)
  }

  /**
   * Remove what runs that ended left in the folder `keep`, and beside their destinations: of transfers that are over, and of
   * files that were never offered. What other processes are at stays, and so does what is named here: it is gone on with.
   */
  async tidy(keep: string, atWork: AtWork = {}): Promise<void> {
    await (await import('../transfers/tidy.ts')).tidyUp(this.#context, keep, atWork)
  }

  /** The same for one transfer, whatever its state. */
  async forget(id: string, keep: string): Promise<void> {
    await (await import('../transfers/tidy.ts')).forgetTransfer(keep, id)
  }

  get #context(): TransferContext {
    return { transfers: this, ...this.#moving }
  }

  /**
   * Offer a file to a peer: its length, hash and parts, and how the bytes will travel. `recipient_agent_id`
   * is an id or a name, and the conversation with it is looked up if it is absent.
   *
   * @throws LocalError `peer_unknown`, which lists the peers. BridgeError manifest_invalid, not_found,
   *   pairing_disabled, project_paused; capacity_reached when the node has no room.
   */
  async offer(input: OutgoingTransfer, options: KeyedOptions = {}): Promise<Transfer> {
    const { conversation_id, recipient_agent_id: to } = input
    const id = asId(to)
    const address =
      id !== undefined && conversation_id !== undefined
        ? { conversation_id, recipient_agent_id: id }
        : await this.#moving.directory.address(to, options)
    return this.#call(entries.create, { body: { ...input, ...address } }, options)
  }

  /** One page of the caller's transfers, oldest first, without their parts. */
  list({
    after,
    limit,
    state,
    role,
    ...options
  }: TransferFilter & PageOptions & CallOptions = {}): Promise<TransferList> {
    return this.#call(entries.list, { query: given({ after, limit, state, role }) }, options)
  }

  /** Every transfer of the caller, page after page. */
  all(options: TransferFilter & CallOptions = {}): AsyncGenerator<TransferSummary, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.transfers)
  }

  /** @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.get, { params: { id } }, options)
  }

  /** Accept an offer, as its recipient. Again changes nothing. @throws state_conflict, offer_expired, not_permitted */
  accept(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.accept, { params: { id }, body: {} }, options)
  }

  /** Decline an offer, as its recipient. @throws state_conflict, offer_expired, not_permitted */
  decline(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.decline, { params: { id }, body: given({ reason }) }, options)
  }

  /** Cancel what is not over, as either side. @throws state_conflict, offer_expired */
  cancel(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.cancel, { params: { id }, body: given({ reason }) }, options)
  }

  /** Report that an accepted transfer cannot be finished. @throws state_conflict, offer_expired */
  fail(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.fail, { params: { id }, body: given({ reason }) }, options)
  }

  /** Tell length and hash of what was received: what completes a transfer. @throws receipt_mismatch, state_conflict */
  receipt(id: string, receipt: TransferReceipt, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.receipt, { params: { id }, body: receipt }, options)
  }

  /** Tell that this side has removed what the transfer left behind. @throws state_conflict while it is not over */
  cleanup(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.cleanup, { params: { id }, body: {} }, options)
  }

  /** Hand endpoint and token of a helper to the other side. @throws invalid_request, state_conflict, not_permitted */
  deposit(id: string, secret: TransferSecret, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.deposit, { params: { id }, body: secret }, options)
  }

  /** The other side's endpoint and token. @throws not_found before there is one; offer_expired when it is over */
  secret(id: string, options: CallOptions = {}): Promise<TransferSecret> {
    return this.#call(entries.secret, { params: { id } }, options)
  }
}
