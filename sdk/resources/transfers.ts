/** Transfers: offer, send and receive files. Contract §9. */
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
   * Offers a file to a peer and uploads it to the node's package store. Resolves once the node has verified
   * the upload. Only the receipt shows that the recipient has it. After `onOffered`, {@link
   * resume} continues a failed upload.
   *
   * @throws LocalError `capability_off` if the node does not accept such a transfer now, `not_sendable` for
   * an invalid name or length, `peer_unknown`, `unreachable`; BridgeError as `offer`.
   */
  async send(path: string, options: SendFileOptions): Promise<Transfer> {
    return (await import('../transfers/send.ts')).sendFile(this.#context, path, options)
  }

  /**
   * Resumes an upload, and sends only the parts that the node lacks.
   *
   * @throws LocalError `integrity` for another file
   */
  async resume(id: string, path: string, options: ResumeOptions = {}): Promise<Transfer> {
    return (await import('../transfers/send.ts')).resumeSending(this.#context, id, path, options)
  }

  /**
   * Accepts an offer, waits for its upload, downloads and verifies the file, and sends the receipt. If it is
   * called again after a failure, it downloads only the missing parts.
   *
   * @throws LocalError `integrity` if the bytes differ from the offer, `destination_exists`,
   * `transfer_expired`; BridgeError
   */
  async receive(id: string, destination: string, options: ReceiveFileOptions = {}): Promise<ReceivedFile> {
    return (await import('../transfers/receive.ts')).receiveFile(this.#context, id, destination, options)
  }

  /**
   * Serves a direct transfer of the caller until the transfer ends. `start` runs a helper.
   *
   * @throws LocalError `aborted`, `unreachable`
   */
  async serve(
    id: string,
    start: () => Promise<ServingHelper>,
    options: ServeOptions = {},
  ): Promise<Transfer> {
    return (await import('../transfers/direct.ts')).serveDirect(this.#context, id, start, options)
  }

  /**
   * Removes the leftover files of earlier runs from the folder `keep` and beside their destinations: those of
   * ended transfers, and of files that were never offered. It keeps files that other processes are using, and
   * the files and ids in `atWork`, which the caller is about to resume.
   */
  async tidy(keep: string, atWork: AtWork = {}): Promise<void> {
    await (await import('../transfers/tidy.ts')).tidyUp(this.#context, keep, atWork)
  }

  /** Removes the leftover files of one transfer in any state. */
  async forget(id: string, keep: string): Promise<void> {
    await (await import('../transfers/tidy.ts')).forgetTransfer(keep, id)
  }

  get #context(): TransferContext {
    return { transfers: this, ...this.#moving }
  }

  /**
   * Offers a file to a peer: its length, hash and parts, and its mode. It sends no bytes; {@link send} does
   * both. `recipient_agent_id` is an id or a name. If the conversation is absent, it is looked up.
   *
   * @throws LocalError `peer_unknown`, which lists the peers. BridgeError manifest_invalid, not_found,
   *   pairing_disabled, project_paused; capacity_reached if the node has no space,
   *   or the conversation 1000 open transfers.
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

  /** Reads one page of the caller's transfers, oldest first, without their parts. */
  list({
    after,
    limit,
    state,
    role,
    ...options
  }: TransferFilter & PageOptions & CallOptions = {}): Promise<TransferList> {
    return this.#call(entries.list, { query: given({ after, limit, state, role }) }, options)
  }

  /** Yields every transfer of the caller, page after page. */
  all(options: TransferFilter & CallOptions = {}): AsyncGenerator<TransferSummary, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.transfers)
  }

  /** @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.get, { params: { id } }, options)
  }

  /**
   * Accepts an offer, as its recipient. Accepting it again has no effect.
   *
   * @throws state_conflict, offer_expired, not_permitted
   */
  accept(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.accept, { params: { id }, body: {} }, options)
  }

  /** Declines an offer, as its recipient. @throws state_conflict, offer_expired, not_permitted */
  decline(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.decline, { params: { id }, body: given({ reason }) }, options)
  }

  /**
   * Cancels a transfer that has not ended, as its sender or recipient.
   *
   * @throws state_conflict, offer_expired
   */
  cancel(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.cancel, { params: { id }, body: given({ reason }) }, options)
  }

  /** Reports that an accepted transfer cannot be finished. @throws state_conflict, offer_expired */
  fail(id: string, { reason }: Reasoned = {}, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.fail, { params: { id }, body: given({ reason }) }, options)
  }

  /**
   * Reports length and hash of the received bytes, which completes the transfer.
   *
   * @throws receipt_mismatch, state_conflict
   */
  receipt(id: string, receipt: TransferReceipt, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.receipt, { params: { id }, body: receipt }, options)
  }

  /**
   * Reports that the caller deleted its leftover files.
   *
   * @throws state_conflict if the transfer has not ended
   */
  cleanup(id: string, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.cleanup, { params: { id }, body: {} }, options)
  }

  /**
   * Stores endpoint and token of a helper for the other side.
   *
   * @throws invalid_request, state_conflict, not_permitted
   */
  deposit(id: string, secret: TransferSecret, options: CallOptions = {}): Promise<Transfer> {
    return this.#call(entries.deposit, { params: { id }, body: secret }, options)
  }

  /**
   * Reads endpoint and token of the other side's helper.
   *
   * @throws not_found before they are stored; offer_expired after they expired
   */
  secret(id: string, options: CallOptions = {}): Promise<TransferSecret> {
    return this.#call(entries.secret, { params: { id } }, options)
  }
}
