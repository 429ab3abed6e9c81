/** The package store of the service as the home of a file: signed requests below the transfer. Contract §9. */
import type { AgentAuthority } from '../../agent/authority.ts'
import { contentHashHeader } from '../../contract/helper/endpoints.ts'
import { type Address, nameOf } from '../../transport/address.ts'
import type { PreparedRequest } from '../../transport/http.ts'
import type { FileEndpoint } from './endpoint.ts'

/** The address of the node, and the proof of each request. */
export interface PackageStore {
  readonly address: Address
  readonly authority: AgentAuthority
}

export function packageEndpoint({ address, authority }: PackageStore, transferId: string): FileEndpoint {
  const target = `/api/v1/transfers/${transferId}/package`
  // Each remedy once for the whole work: a clock that has to be corrected twice is not corrected.
  const mended = new Set<string>()
  const caller = { caller: 'agent', idempotencyKey: undefined } as const
  return {
    origin: address.origin,
    prefix: `${address.prefix}${target}`,
    called: `the node at ${nameOf(address)}`,
    // The next one comes while the last one is synced.
    partsAtOnce: 2,
    authorise: ({ method, target: path, bodySha256 }) => ({
      ...authority.sign({ ...caller, method, target: path.slice(address.prefix.length) }, bodySha256),
      ...(method === 'PUT' && { [contentHashHeader]: bodySha256 }),
    }),
    mend: async (refusal) => {
      const prepared: PreparedRequest = {
        ...caller,
        endpoint: 'packages',
        method: 'GET',
        target,
        body: undefined,
        repeatable: true,
        required: [],
      }
      return (await authority.mend?.(refusal, prepared, mended, {})) ?? false
    },
  }
}
