/**
 * Notifies a sender's open streams, after the commit, that its message was acknowledged: those at this node,
 * and those at the other nodes of the database.
 *
 * A receipt is a hint that may be lost. The message itself has the truth. Contract §6.
 */
import type { Receipt } from '../../sdk/contract/agent/events.ts'
import { type Bus, noBus } from '../bus/bus.ts'
import { createTopic, type Topic } from './topic.ts'

/** By the agent that sent the messages. */
export type Receipts = Pick<Topic<readonly Receipt[]>, 'publish' | 'subscribe'>

/** Receipts of one notification. Its size is limited. */
const maxTold = 20

export function createReceipts(bus: Pick<Bus, 'tell' | 'hear'> = noBus): Receipts {
  const { publish, subscribe } = createTopic<readonly Receipt[]>()
  bus.hear('receipts', ([agentId, receipts]) => publish(agentId, receipts))
  return {
    publish(agentId, receipts) {
      publish(agentId, receipts)
      for (let start = 0; start < receipts.length; start += maxTold)
        bus.tell('receipts', [agentId, receipts.slice(start, start + maxTold)])
    },
    subscribe,
  }
}
