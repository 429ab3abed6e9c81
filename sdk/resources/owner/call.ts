/** What the owner's resources are made of: one function that carries a contract entry to the node and back. */
import type { BodyOf, EndpointSpec, ParamsOf, QueryOf, ResponseOf } from '../../contract/endpoint.ts'

type Given<K extends string, T> = [T] extends [undefined] ? unknown : { readonly [P in K]: T }

/** The parts that an entry has, and no others. */
export type OwnerInput<E extends EndpointSpec> = Given<'params', ParamsOf<E>> &
  Given<'query', QueryOf<E>> &
  Given<'body', BodyOf<E>>

export interface CallOptions {
  /** Ends the call, its waits between attempts included. */
  readonly signal?: AbortSignal | undefined
}

export interface KeyedOptions extends CallOptions {
  /** To send again what may have arrived; made once per call when absent. */
  readonly idempotencyKey?: string | undefined
}

export type OwnerCall = <const E extends EndpointSpec>(
  endpoint: E,
  input: OwnerInput<E>,
  options?: KeyedOptions,
) => Promise<ResponseOf<E>>

/** Which page of a list. */
export interface PageOptions {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** The query of a page, without the parts that were not given: an absent field and an undefined one differ on the wire. */
export const pageQuery = ({ after, limit }: PageOptions): { after?: string; limit?: number } => ({
  ...(after === undefined ? {} : { after }),
  ...(limit === undefined ? {} : { limit }),
})
