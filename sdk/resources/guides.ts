/** Guides: instructions for coding agents on messages, tasks, transfers and packages. Spec §2. */
import { guides as entries, type Guide, type GuideTopic } from '../contract/agent/guides.ts'
import type { CallOptions } from '../transport/http.ts'
import type { Call } from './call.ts'

export class Guides {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Reads the guide of a topic. `guideTopics` lists the topics. */
  get(topic: GuideTopic, options: CallOptions = {}): Promise<Guide> {
    return this.#call(entries[topic], {}, options)
  }
}
