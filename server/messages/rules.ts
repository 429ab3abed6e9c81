/**
 * The guards of a conversation: a budget per sender and window, a limit of hops, a full inbox.
 *
 * Two agents that answer each other for ever are the costliest accident; the guard is theirs alone, so one loop
 * silences nobody else, and the owner's word opens the conversation again.
 *
 * Contract §7 "Loop guard".
 */

import type { TaskState } from '../../sdk/contract/agent/tasks.ts'
import type { TransferState } from '../../sdk/contract/agent/transfers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'
import { isFinal as isTaskFinal } from '../tasks/rules.ts'
import { isFinal as isTransferFinal } from '../transfers/rules.ts'

const budgetWindowMs = limits.messageBudgetWindowSeconds * 1000

/** From when on messages count: the window, or the owner's last message, whichever is later. All in steady time. */
export function budgetSince(now: Date, ownerWroteAt: string | null): string {
  const window = new Date(now.getTime() - budgetWindowMs).toISOString()
  // A store of an earlier version has wall time in `ownerWroteAt`, which may lie ahead.
  const counts = ownerWroteAt !== null && ownerWroteAt > window && ownerWroteAt <= now.toISOString()
  return counts ? ownerWroteAt : window
}

/** In steady time. `oldestCounted` is when the oldest message was stored that keeps the sender from its next. */
export function budgetSpent(allowed: number, oldestCounted: string, now: Date): ApiError {
  const freeAt = Date.parse(oldestCounted) + budgetWindowMs
  return new ApiError('conversation_budget', {
    retryAfterMs: Math.max(1, freeAt - now.getTime()),
    message: `Stop: ${allowed} messages in ${limits.messageBudgetWindowSeconds / 60} minutes. Do not rephrase; wait for the owner.`,
    details: { guard: 'messages', limit: allowed, window_seconds: limits.messageBudgetWindowSeconds },
  })
}

/** No time ends this refusal, only a word of the owner, so it names a whole window. @throws conversation_budget */
export function requireHops(hops: number): void {
  if (hops <= limits.hops) return
  throw new ApiError('conversation_budget', {
    message: `Stop: this thread has been answered ${limits.hops} times. Do not rephrase; wait for the owner.`,
    details: { guard: 'hops', limit: limits.hops },
    retryAfterMs: budgetWindowMs,
  })
}

/** @throws capacity_reached */
export function requireInboxRoom(waiting: number): void {
  if (waiting <= limits.inboxUnacknowledged) return
  throw new ApiError('capacity_reached', {
    message: `The recipient has ${limits.inboxUnacknowledged} unacknowledged messages.`,
    details: { limit: 'inbox' },
    retryAfterMs: retryAfterMs.others,
  })
}

/** What decides whether retention may take a message. */
export interface Kept {
  readonly created_at: string
  readonly acknowledged_at: string | null
  /** Of the task or transfer that it tells of. */
  readonly task_state: TaskState | null
  readonly transfer_state: TransferState | null
}

/**
 * Whether a message may go: acknowledged, older than the cutoff by both its times, and of no open task or transfer.
 */
export const isRemovable = (message: Kept, cutoff: string): boolean =>
  message.acknowledged_at !== null &&
  message.acknowledged_at < cutoff &&
  message.created_at < cutoff &&
  (message.task_state === null || isTaskFinal(message.task_state)) &&
  (message.transfer_state === null || isTransferFinal(message.transfer_state))
