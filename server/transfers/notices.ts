/**
 * Sends the `transfer` messages with which the service reports a change to a side of a transfer.
 *
 * - The message is written in the transaction of the change.
 * - Its sender is `system`. The message records the other agent, so that it is withheld like all messages of
 *   a disabled pair. Notices of the owner's actions are always delivered.
 * - Only the notice of a new offer is refused if the inbox is full. Other notices are always stored.
 *
 * Contract §9, §10.
 */
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import { inLine, quoted } from '../messages/quoted.ts'
import { insertMessage, type NewMessage } from '../messages/store.ts'
import type { TransferSummaryRow } from './store.ts'

export interface Notice {
  readonly to: 'sender' | 'recipient'
  /** The event in a few words. The file name is appended. */
  readonly what: string
  /** Text of one side, which is quoted. */
  readonly quote?: string | undefined
  /** More words of the service. */
  readonly note?: string | undefined
  /** Command to show in the message. Default: `show`. */
  readonly next?: 'show' | 'receive'
  /** Caused by the owner, so it is not withheld if the pair is disabled. */
  readonly byOwner?: boolean
  /** Refused if the inbox is full. */
  readonly needsRoom?: boolean
}

/** @throws capacity_reached if the notice needs room and the inbox is full */
export async function notify(
  context: Pick<Context, 'wakeups'>,
  tx: Tx,
  transfer: TransferSummaryRow,
  notice: Notice,
): Promise<void> {
  const [agentId, counterpart] =
    notice.to === 'sender'
      ? [transfer.sender_agent_id, transfer.recipient_agent_id]
      : [transfer.recipient_agent_id, transfer.sender_agent_id]
  const message: NewMessage = {
    project_id: transfer.project_id,
    conversation_id: transfer.conversation_id,
    sender_kind: 'system',
    sender_agent_id: notice.byOwner === true ? null : counterpart,
    sender_name: 'system',
    recipient_kind: 'agent',
    recipient_agent_id: agentId,
    type: 'transfer',
    body: textOf(transfer, notice),
    encoding: 'text',
    in_reply_to: null,
    expects_reply_by: null,
    root_id: undefined,
    hops: 0,
    transfer_id: transfer.id,
  }
  await insertMessage(tx, message, { needsRoom: notice.needsRoom === true })
  tx.afterCommit(() => context.wakeups.notify(agentId))
}

const textOf = (transfer: TransferSummaryRow, { what, quote, note, next = 'show' }: Notice): string =>
  [
    inLine(`${what}: ${transfer.filename} (${transfer.size} bytes)`),
    ...(quote ? [quoted(quote)] : []),
    ...(note === undefined ? [] : [note]),
    `agent-bridge transfer ${next} ${transfer.id}`,
  ].join('\n')
