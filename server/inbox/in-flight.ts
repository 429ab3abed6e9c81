/**
 * Which messages are on their way to which session right now, in process.
 *
 * An offer counts once its bytes were flushed, and is recorded after that. Until then the message is held here, so
 * that a second read of the same session does not offer it again.
 *
 * Contract §6.
 */
import { limits } from '../../sdk/contract/limits.ts'

/** Sessions beyond this begin to count anew, the idlest first: memory stays bounded however many come and go. */
const counted = 20_000

export interface Offers {
  isHeld(sessionId: string, messageId: string): boolean
  heldBy(sessionId: string): number
  hold(sessionId: string, messageIds: readonly string[]): void
  release(sessionId: string, messageIds: readonly string[]): void
  /** How many of the next `places` places of this session are kept for redeliveries that are due: one in ten. */
  kept(sessionId: string, places: number): number
  used(sessionId: string, places: number): void
}

export function createOffers(): Offers {
  const held = new Map<string, Set<string>>()
  const places = new Map<string, number>()

  return {
    isHeld: (sessionId, messageId) => held.get(sessionId)?.has(messageId) ?? false,
    heldBy: (sessionId) => held.get(sessionId)?.size ?? 0,
    hold(sessionId, messageIds) {
      const set = held.get(sessionId) ?? new Set()
      for (const id of messageIds) set.add(id)
      held.set(sessionId, set)
    },
    release(sessionId, messageIds) {
      const set = held.get(sessionId)
      for (const id of messageIds) set?.delete(id)
      if (set?.size === 0) held.delete(sessionId)
    },
    kept(sessionId, wanted) {
      const before = places.get(sessionId) ?? 0
      return (
        Math.floor((before + wanted) / limits.redeliveryShare) - Math.floor(before / limits.redeliveryShare)
      )
    },
    used(sessionId, taken) {
      const count = ((places.get(sessionId) ?? 0) + taken) % limits.redeliveryShare
      places.delete(sessionId)
      if (count > 0) places.set(sessionId, count)
      const oldest = places.size > counted ? places.keys().next().value : undefined
      if (oldest !== undefined) places.delete(oldest)
    },
  }
}
