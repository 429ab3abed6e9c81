/**
 * Who may open, read and write a conversation.
 *
 * - Participants only, and only inside their own project: the queries see to that.
 * - Peer history needs the pairing enabled now and an active peer; owner conversations do not.
 * - A refusal to read is "not found", so that ids cannot be probed.
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
    message: 'The peer is disabled by the owner.',
    details: { state: 'disabled' },
  })
}
