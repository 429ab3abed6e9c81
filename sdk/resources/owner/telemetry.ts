/** Host telemetry, as the owner reads it. Contract §11. */
import { type HostSampleList, ownerTelemetry } from '../../contract/telemetry.ts'
import type { CallOptions } from '../../transport/http.ts'
import type { Call } from '../call.ts'

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
}
