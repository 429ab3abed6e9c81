/** Carries an entry of the contract to the node and back: `Courier.call` for an agent, `OwnerNames.call` for an owner. */
import type { EndpointSpec, ResponseOf } from '../contract/endpoint.ts'
import type { CallInput, KeyedOptions } from '../transport/http.ts'

export type Call = <const E extends EndpointSpec>(
  entry: E,
  input: CallInput<E>,
  options?: KeyedOptions,
) => Promise<ResponseOf<E>>

/** Which page of a list. */
export interface PageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** What belongs to one agent only. */
export interface OfAgent {
  readonly agentId?: string | undefined
}

/** The fields that were given: an absent field and an undefined one differ in the types of the wire. */
export function given<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

/** Every item of a list, page after page. */
export async function* everyItem<P extends { has_more: boolean; next_after: string | null }, T>(
  read: (after: string | undefined) => Promise<P>,
  itemsOf: (page: P) => readonly T[],
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined
  for (;;) {
    const page = await read(after)
    yield* itemsOf(page)
    // A page that says "more" without a new cursor would never end.
    if (!page.has_more || page.next_after === null || page.next_after === after) return
    after = page.next_after
  }
}
