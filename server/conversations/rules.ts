/**
 * Rules for reading and writing conversations.
 *
 * - Only participants in their own project have access; the queries ensure this.
 * - A peer conversation is readable if its pairing is enabled now and the peer is enabled. Owner
 *   conversations are always readable.
 * - A refused read is `not_found`, so that callers cannot probe ids.
 *
 * Spec §4.2, history rules; contract §7, §10.
 */
import { ApiError } from '../api-error.ts'
import type { ConversationStanding } from './store.ts'

/** @throws not_found */
export function requireReadable(found: ConversationStanding | undefined): ConversationStanding {
  if (found === undefined || (found.peer && !(found.paired && found.peer.enabled)))
    throw new ApiError('not_found')
  return found
}

/** @throws not_found */
export function requireParticipant(found: ConversationStanding | undefined): ConversationStanding {
  if (found === undefined) throw new ApiError('not_found')
  return found
}

/** @throws pairing_disabled, state_conflict */
export function requireWritable({ peer, paired }: ConversationStanding): void {
  if (peer === undefined) return
  if (!paired) throw new ApiError('pairing_disabled')
  requirePeerEnabled(peer.enabled)
}

/** @throws state_conflict */
export function requirePeerEnabled(enabled: boolean): void {
  if (enabled) return
  throw new ApiError('state_conflict', {
    message: 'The owner has disabled the peer.',
    details: { state: 'disabled' },
  })
}
