/**
 * Notifies a sender's open streams, after the commit, that its message was acknowledged. In process only.
 *
 * A receipt is a hint that may be lost. The message itself has the truth. Contract §6.
 */
import type { Receipt } from '../../sdk/contract/agent/events.ts'
import { createTopic, type Topic } from './topic.ts'

/** By the agent that sent the messages. */
export type Receipts = Topic<readonly Receipt[]>

export const createReceipts = (): Receipts => createTopic()
