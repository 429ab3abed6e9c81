/**
 * The `transfer` messages by which the service tells a side of a transfer what happened to it.
 *
 * - Written in the transaction of the change, so both are there or neither.
 * - From `system`; the other agent is noted beside it, so that mail of a disabled pair is withheld as any other. What the
 *   owner did is told in any case.
 * - Only a new offer may meet a full inbox; nothing that ends one is refused for it.
 *
 * Contract §9, §10.
 */
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'
import { requireInboxRoom } from '../messages/rules.ts'
import { insertMessage } from '../messages/store.ts'

export interface Notice {
  readonly to: 'sender' | 'recipient'
  /** What happened, in a few words; the name of the file follows. */
  readonly what: string
  readonly more?: string | undefined
  /** What to type next; by default how to look at the transfer. */
  readonly next?: 'show' | 'receive'
  /** The owner did it: no pair stands between. */
  readonly byOwner?: boolean
  /** Refused when the inbox is full. */
  readonly needsRoom?: boolean
}

/** @throws capacity_reached, where the notice needs room */
export async function notify(
  context: Pick<Context, 'wakeups'>,
  tx: Tx,
  transfer: TransferRow,
  notice: Notice,
): Promise<void> {
  const [agentId, counterpart] =
    notice.to === 'sender'
      ? [transfer.sender_agent_id, transfer.recipient_agent_id]
      : [transfer.recipient_agent_id, transfer.sender_agent_id]
  const { waiting } = await insertMessage(tx, {
    project_id: transfer.project_id,
    conversation_id: transfer.conversation_id,
    sender_kind: 'system',
    sender_agent_id: notice.byOwner === true ? null : counterpart,
    sender_name: 'system',
    recipient_kind: 'agent',
    recipient_agent_id: agentId,
    type: 'transfer',
    body: wordsOf(transfer, notice),
    encoding: 'text',
    in_reply_to: null,
    expects_reply_by: null,
    root_id: undefined,
    hops: 0,
    transfer_id: transfer.id,
  })
  if (notice.needsRoom === true) requireInboxRoom(waiting)
  tx.afterCommit(() => context.wakeups.notify(agentId))
}

const wordsOf = (transfer: TransferRow, { what, more, next = 'show' }: Notice): string =>
  [
    `${what}: ${transfer.filename} (${transfer.size} bytes)`,
    ...(more ? [more] : []),
    `bridge transfer ${next} ${transfer.id}`,
  ].join('\n')
