/** How to work with messages, tasks, transfers and packages: texts that a coding agent can follow. Spec §2. */
import { guides as entries, type Guide, type GuideTopic } from '../contract/agent/guides.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

export class Guides {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** The guide of a topic; see `guideTopics`. */
  get(topic: GuideTopic, options: CallOptions = {}): Promise<Guide> {
    return this.#call(entries[topic], {}, options)
  }
}
