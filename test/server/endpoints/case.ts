/**
 * The types of the table of cases: for each endpoint a success, and one request for each code in its
 * `errors`.
 */
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { ContractEntry, EndpointId } from '../../../sdk/contract/index.ts'
import type { Reply } from '../../support/http.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

/**
 * Brings the world into the state of the case; returns the request to send, or the reply if it was already
 * sent.
 */
export type Make = (world: World) => Promise<Ready | Reply>

export interface CaseOf<Code extends string> {
  /** An accepted request with every field that the body may have. */
  readonly success: (world: World) => Promise<Ready>
  /** Other accepted requests, named by their difference. */
  readonly also?: Readonly<Record<string, Make>>
  readonly refusals: Readonly<Record<Code, Make>>
}

/** The data of an accepted stream is checked by the tests of delivery; here only its refusals are answers. */
export type StreamCaseOf<Code extends string> = Pick<CaseOf<Code>, 'refusals'>

type CaseFor<E extends EndpointSpec> = E extends { readonly stream: string }
  ? StreamCaseOf<E['errors'][number]>
  : CaseOf<E['errors'][number]>

/** Does not compile while an endpoint or one of its codes is missing. */
export type Cases = { readonly [E in ContractEntry as E['id']]: CaseFor<E> }

/** The cases of some endpoints; `cases.ts` combines them. */
export type SomeCases<Id extends EndpointId> = Pick<Cases, Id>

export const unknownId = '01890000-0000-7000-8000-000000000000'
