/**
 * Carries an entry of the contract to the node and back: `AgentCalls.call` for an agent, `OwnerNames.call` for
 * an owner.
 */
import type { EndpointSpec, ResponseOf } from '../contract/endpoint.ts'
import type { ListOrder } from '../contract/primitives.ts'
import type { CallInput, KeyedOptions } from '../transport/http.ts'

export type Call = <const E extends EndpointSpec>(
  entry: E,
  input: CallInput<E>,
  options?: KeyedOptions,
) => Promise<ResponseOf<E>>

/** Page of a list: its size, and the last id of the previous page. */
export interface PageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** Direction of a list of the owner; oldest first by default. `after` continues in it. */
export interface Ordered {
  readonly order?: ListOrder | undefined
}

/** Filter for one agent. */
export interface OfAgent {
  readonly agentId?: string | undefined
}

/**
 * Returns the fields without those that are undefined, since the wire types distinguish absent from
 * undefined.
 */
export function given<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Yields every item of a list, page after page. */
export async function* everyItem<P extends { has_more: boolean; next_after: string | null }, T>(
  read: (after: string | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined
  for (;;) {
    const page = await read(after)
    yield* itemsOf(page)
    // A page with "more" but without a new cursor would repeat endlessly.
    if (!page.has_more || page.next_after === null || page.next_after === after) return
    after = page.next_after
  }
}
