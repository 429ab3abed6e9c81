/** The shape of the table of cases: for each endpoint a success, and one request for each code in its `errors`. */
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { ContractEntry, EndpointId } from '../../../sdk/contract/index.ts'
import type { Reply } from '../../support/http.ts'
import type { Ready } from './send.ts'
import type { World } from './world.ts'

/** Brings the world into the state that the case is about; answers the request, or what it was answered already. */
export type Make = (world: World) => Promise<Ready | Reply>

export interface CaseOf<Code extends string> {
  /** Accepted, with every field that the body may have. */
  readonly success: (world: World) => Promise<Ready>
  /** Other requests that are accepted too, by what is special about them. */
  readonly also?: Readonly<Record<string, Make>>
  readonly refusals: Readonly<Record<Code, Make>>
}

/** What a stream sends when it is accepted is the tests' of delivery; only its refusals are answers. */
export type StreamCaseOf<Code extends string> = Pick<CaseOf<Code>, 'refusals'>

type CaseFor<E extends EndpointSpec> = E extends { readonly stream: string }
  ? StreamCaseOf<E['errors'][number]>
  : CaseOf<E['errors'][number]>

/** Does not compile while an endpoint or a code of one is missing. */
export type Cases = { readonly [E in ContractEntry as E['id']]: CaseFor<E> }

/** The cases of some endpoints; `cases.ts` puts them together. */
export type SomeCases<Id extends EndpointId> = Pick<Cases, Id>

export const unknownId = '01890000-0000-7000-8000-000000000000'
