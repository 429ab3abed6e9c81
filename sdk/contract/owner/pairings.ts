/** Pairings: which two agents of a project may talk. Spec §2; contract §10. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { IdParams, named, pageOf, Strict, Timestamp, Uuid } from '../primitives.ts'
import { ByAgentQuery } from './agents.ts'

const AgentIds = Type.Array(Uuid, { minItems: 2, maxItems: 2, uniqueItems: true })

export const PairingInput = named('PairingInput', Strict({ agent_ids: AgentIds, enabled: Type.Boolean() }))
export type PairingInput = Static<typeof PairingInput>

export const PairingResult = named(
  'PairingResult',
  Type.Object({ agent_ids: AgentIds, enabled: Type.Boolean(), updated_at: Timestamp }),
)
export type PairingResult = Static<typeof PairingResult>

export const PairingList = named('PairingList', pageOf('pairings', PairingResult))

export const pairings = {
  set: endpoint({
    id: 'owner.pairings.set',
    method: 'POST',
    path: '/api/admin/projects/{id}/pairings',
    caller: 'owner',
    summary: 'Enable or disable a pair of agents.',
    params: IdParams,
    body: PairingInput,
    response: PairingResult,
    errors: ['not_found'],
  }),
  list: endpoint({
    id: 'owner.pairings.list',
    method: 'GET',
    path: '/api/admin/projects/{id}/pairings',
    caller: 'owner',
    summary: 'List the pairings of a project.',
    params: IdParams,
    query: ByAgentQuery,
    response: PairingList,
    errors: ['not_found'],
  }),
}
