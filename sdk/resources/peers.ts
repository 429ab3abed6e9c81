/** Peers: the agents that the caller may message. Contract §5. */

import { peers as entries, type Peer } from '../contract/agent/peers.ts'
import type { ResponseOf } from '../contract/endpoint.ts'
import { limits } from '../contract/limits.ts'
import type { CallOptions } from '../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from './call.ts'

export class Peers {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Reads one page of the peers. See {@link all}. */
  list({
    after,
    limit,
    ...options
  }: PageOptions & CallOptions = {}): Promise<ResponseOf<typeof entries.list>> {
    return this.#call(entries.list, { query: given({ after, limit }) }, options)
  }

  /** Yields every peer, page after page. */
  all(options: CallOptions = {}): AsyncGenerator<Peer, void, undefined> {
    const read = (after: string | undefined) => this.list({ ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.peers)
  }
}
