/**
 * Messages that are being sent to a session, in process.
 *
 * An offer counts once its bytes have been flushed, and is recorded after that. Until then the message is in
 * flight, so that a second read of the same session does not offer it again.
 *
 * Contract §6.
 */
import { limits } from '../../sdk/contract/limits.ts'

/**
 * Maximum number of sessions with a slot count. The least recently used one is dropped, so memory stays
 * bounded.
 */
const maxCounted = 20_000

export interface Offers {
  isHeld(sessionId: string, messageId: string): boolean
  heldBy(sessionId: string): number
  hold(sessionId: string, messageIds: readonly string[]): void
  release(sessionId: string, messageIds: readonly string[]): void
  /** How many of the session's next `slots` message slots are reserved for due redeliveries: one in ten. */
  reservedSlots(sessionId: string, slots: number): number
  countUsed(sessionId: string, slots: number): void
}

export function createOffers(): Offers {
  const held = new Map<string, Set<string>>()
  const slots = new Map<string, number>()

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
    reservedSlots(sessionId, wanted) {
      const before = slots.get(sessionId) ?? 0
      return (
        Math.floor((before + wanted) / limits.redeliveryShare) - Math.floor(before / limits.redeliveryShare)
      )
    },
    countUsed(sessionId, taken) {
      const count = ((slots.get(sessionId) ?? 0) + taken) % limits.redeliveryShare
      slots.delete(sessionId)
      if (count > 0) slots.set(sessionId, count)
      const oldest = slots.size > maxCounted ? slots.keys().next().value : undefined
      if (oldest !== undefined) slots.delete(oldest)
    },
  }
}
