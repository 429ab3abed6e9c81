/** Recipient keys: the age public key with which peers encrypt for one agent. Contract §9 "Recipient key". */
import { type Static, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { IdParams, named, Strict } from '../primitives.ts'
import { RecipientKey } from './peers.ts'

export const RecipientKeyInput = named(
  'RecipientKeyInput',
  Strict({
    recipient: Type.String({
      description: 'age X25519 recipient: age1 and 58 characters.',
      pattern: '^age1[02-9ac-hj-np-z]{58}$',
      maxLength: 62,
    }),
  }),
)
export type RecipientKeyInput = Static<typeof RecipientKeyInput>

export const recipientKeys = {
  register: endpoint({
    id: 'recipientKeys.register',
    method: 'POST',
    path: '/api/v1/recipient-key',
    caller: 'agent',
    scope: ['messages', 'transfers'],
    summary: "Register the caller's own age public key. Registering the same key again succeeds.",
    body: RecipientKeyInput,
    response: RecipientKey,
    errors: ['recipient_key_conflict'],
  }),
  ofConversation: endpoint({
    id: 'recipientKeys.ofConversation',
    method: 'GET',
    path: '/api/v1/conversations/{id}/recipient-key',
    caller: 'agent',
    scope: ['messages', 'transfers'],
    summary: "Read the other participant's key.",
    params: IdParams,
    response: RecipientKey,
    errors: ['not_found'],
  }),
}
