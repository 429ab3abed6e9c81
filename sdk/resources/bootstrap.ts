/** Bootstrap, the first read of an agent. Contract §5. */
import { type Bootstrap, bootstrap as entries } from '../contract/agent/bootstrap.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

export class BootstrapReader {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Reads identity, project, instructions, session policy, transports and limits. Needs no session. */
  get(options: CallOptions = {}): Promise<Bootstrap> {
    return this.#call(entries.get, {}, options)
  }
}
