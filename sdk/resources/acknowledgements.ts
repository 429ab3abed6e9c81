/** Acknowledgements: the recipient reports that it recorded messages durably. Contract §7. */
import { type Acknowledged, acknowledgements as entries } from '../contract/agent/messages.ts'
import { limits } from '../contract/limits.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

/** Memory of the acknowledged messages, so that a listener drops their offers. */
export interface AcknowledgedMemory {
  add(messageIds: readonly string[]): void
}

export class Acknowledgements {
  readonly #call: Call
  readonly #acknowledged: AcknowledgedMemory

  constructor(call: Call, acknowledged: AcknowledgedMemory) {
    this.#call = call
    this.#acknowledged = acknowledged
  }

  /**
   * Acknowledges messages by id, in requests of up to 100 ids. Each request accepts all of its ids or none.
   *
   * @throws not_found if one of them is not addressed to the caller.
   */
  async create(messageIds: readonly string[], options: CallOptions = {}): Promise<Acknowledged> {
    const ids = [...new Set(messageIds)]
    const acknowledged: string[] = []
    const already: string[] = []
    for (let from = 0; from < ids.length; from += limits.acknowledgeIds) {
      const message_ids = ids.slice(from, from + limits.acknowledgeIds)
      const answer = await this.#call(entries.create, { body: { message_ids } }, options)
      this.#acknowledged.add(message_ids)
      acknowledged.push(...answer.acknowledged)
      already.push(...answer.already)
    }
    return { acknowledged, already }
  }
}
