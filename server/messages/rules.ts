/**
 * Guards of a conversation: a message budget per sender and window, a limit of hops, and a full inbox.
 *
 * Two agents that answer each other forever are the costliest accident. The guard applies to one sender in
 * one conversation, so a loop blocks no other conversation. A message of the owner reopens it.
 *
 * Contract §7 "Loop guard".
 */

import { finalTaskStates, type TaskState } from '../../sdk/contract/agent/tasks.ts'
import { finalTransferStates, type TransferState } from '../../sdk/contract/agent/transfers.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { retryAfterMs } from '../retry-after.ts'

const budgetWindowMs = limits.messageBudgetWindowSeconds * 1000

/**
 * Start of the counted period in steady time: the start of the window or the owner's last message, whichever is
 * later.
 */
export function budgetSince(now: Date, ownerWroteAt: string | null): string {
  const window = new Date(now.getTime() - budgetWindowMs).toISOString()
  // Earlier versions stored wall time in `ownerWroteAt`, which may be ahead of steady time.
  const counts = ownerWroteAt !== null && ownerWroteAt > window && ownerWroteAt <= now.toISOString()
  return counts ? ownerWroteAt : window
}

/**
 * Builds the refusal. `oldestCounted` is the steady time of the oldest message in the budget. The sender may send
 * again when it leaves the window.
 */
export function budgetSpent(allowed: number, oldestCounted: string, now: Date): ApiError {
  const freeAt = Date.parse(oldestCounted) + budgetWindowMs
  return new ApiError('conversation_budget', {
    retryAfterMs: Math.max(1, freeAt - now.getTime()),
    message: `Stop: ${allowed} messages in ${limits.messageBudgetWindowSeconds / 60} minutes. Do not rephrase; wait for the owner.`,
    details: { guard: 'messages', limit: allowed, window_seconds: limits.messageBudgetWindowSeconds },
  })
}

/**
 * Refuses a thread with too many hops. Only a message of the owner ends this refusal, so the retry delay is a
 * whole window. @throws conversation_budget
 */
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
    retryAfterMs: retryAfterMs.otherParty,
  })
}

/** The fields that decide whether retention may delete a message. */
export interface RetentionFields {
  readonly created_at: string
  readonly acknowledged_at: string | null
  /** State of the task or transfer that the message belongs to. */
  readonly task_state: TaskState | null
  readonly transfer_state: TransferState | null
}

/**
 * Whether a message may be deleted: it is acknowledged, both its times are before the cutoff, and its task or
 * transfer is final.
 */
export const isRemovable = (message: RetentionFields, cutoff: string): boolean =>
  message.acknowledged_at !== null &&
  message.acknowledged_at < cutoff &&
  message.created_at < cutoff &&
  (message.task_state === null || finalTaskStates.has(message.task_state)) &&
  (message.transfer_state === null || finalTransferStates.has(message.transfer_state))
