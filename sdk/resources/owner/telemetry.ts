/** Host telemetry, as the owner reads it. Contract §11. */
import { type HostHistory, type HostSampleList, ownerTelemetry } from '../../contract/telemetry.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, given } from '../call.ts'

export class OwnerTelemetry {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /**
   * Reads the latest sample of each host, including the node's own.
   *
   * @throws not_permitted for a project administrator
   */
  list(options: CallOptions = {}): Promise<HostSampleList> {
    return this.#call(ownerTelemetry.list, {}, options)
  }

  /**
   * Reads the load of one host in the last `minutes`, by default 24 hours, with one sample a minute. The node
   * keeps it in memory, so it begins with the start of the node.
   *
   * @throws not_found if the host has not reported in this time; not_permitted for a project administrator
   */
  history(
    host: string,
    { minutes, ...options }: CallOptions & { readonly minutes?: number | undefined } = {},
  ): Promise<HostHistory> {
    return this.#call(ownerTelemetry.history, { query: { host, ...given({ minutes }) } }, options)
  }
}
