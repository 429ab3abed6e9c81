/** File endpoint of the node's package store: signed requests below the path of the transfer. Contract §9. */
import type { AgentAuthority } from '../../agent/authority.ts'
import { contentHashHeader } from '../../contract/helper/endpoints.ts'
import { type Address, nameOf } from '../../transport/address.ts'
import type { PreparedRequest } from '../../transport/http.ts'
import type { FileEndpoint } from './endpoint.ts'

/** Address of the node, and the authority that signs each request. */
export interface PackageStore {
  readonly address: Address
  readonly authority: AgentAuthority
}

export function packageEndpoint({ address, authority }: PackageStore, transferId: string): FileEndpoint {
  const target = `/api/v1/transfers/${transferId}/package`
  // Each remedy is used once per transfer. If it did not help, a second use would not either.
  const tried = new Set<string>()
  const caller = { caller: 'agent', idempotencyKey: undefined } as const
  return {
    origin: address.origin,
    ca: address.ca,
    prefix: `${address.prefix}${target}`,
    called: `the node at ${nameOf(address)}`,
    // One part is fetched while the part before it is synced.
    partsAtOnce: 2,
    authorise: ({ method, target: path, bodySha256 }) => ({
      ...authority.sign({ ...caller, method, target: path.slice(address.prefix.length) }, bodySha256),
      ...(method === 'PUT' && { [contentHashHeader]: bodySha256 }),
    }),
    recover: async (refusal) => {
      const prepared: PreparedRequest = {
        ...caller,
        endpoint: 'packages',
        method: 'GET',
        target,
        body: undefined,
        repeatable: true,
        required: [],
      }
      return (await authority.recover?.(refusal, prepared, tried, {})) ?? false
    },
  }
}
