/** Peers: the agents that the caller may message. Spec §2 "Peer listing"; contract §5. */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { Connection } from '../presence.ts'
import { Name, Nullable, named, PageQuery, pageOf, ref, Timestamp, Uuid } from '../primitives.ts'

export const RecipientKey = named(
  'RecipientKey',
  Type.Object({
    agent_id: Uuid,
    recipient: Type.String({ description: 'age X25519 recipient, age1…' }),
    fingerprint: Type.String(),
    registered_at: Timestamp,
    registered_by: Type.Union([Type.Literal('agent'), Type.Literal('owner')]),
  }),
)
export type RecipientKey = Static<typeof RecipientKey>

export const Peer = named(
  'Peer',
  Type.Object({
    id: Uuid,
    name: Name,
    role_name: Type.String(),
    role: Type.String({ description: 'Legacy: the slug of role_name.' }),
    description: Type.String(),
    prompt_template: Type.String(),
    recipient_keys: Type.Array(ref(RecipientKey)),
    connection: ref(Connection),
    conversation_id: Nullable(Uuid),
  }),
)
export type Peer = Static<typeof Peer>

export const PeerList = named('PeerList', pageOf('peers', Peer))

export const peers = {
  list: endpoint({
    id: 'peers.list',
    method: 'GET',
    path: '/api/v1/peers',
    caller: 'agent',
    summary: 'List the agents that the caller is paired with.',
    query: PageQuery,
    response: PeerList,
    errors: [],
  }),
}
