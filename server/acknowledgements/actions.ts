/**
 * Acknowledgements: the recipient confirms that it has stored these messages durably.
 *
 * All or nothing: if one id is not a message of the caller, the answer is not_found and nothing is
 * acknowledged. The call is idempotent without a key.
 *
 * Contract §7.
 */
import type { Acknowledged } from '../../sdk/contract/agent/messages.ts'
import { ApiError } from '../api-error.ts'
import { type Actor, agentActor, ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { inboxOf } from '../database/touches.ts'
import type { Tx } from '../database/tx.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller, OwnerCaller } from '../identity/callers.ts'
import { writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import * as store from './store.ts'

export function acknowledge(
  context: Context,
  caller: AgentCaller,
  ids: readonly string[],
): Promise<Acknowledged> {
  const unit = async (tx: Tx, agent: Admitted) => {
    const actor = { actor: agentActor(agent), project_id: agent.project_id }
    const result = await acknowledgeFor(context, tx, { agentId: agent.agent_id }, ids, actor)
    if (result.acknowledged.length > 0)
      await store.subtractFromInbox(tx, agent.agent_id, result.acknowledged.length)
    return result
  }
  return writeAs(context, caller, unit, { alone: [inboxOf(caller.agent_id)] })
}

export function acknowledgeAsOwner(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  ids: readonly string[],
): Promise<Acknowledged> {
  return writeAsOwner(context, caller, projectId, async (tx) => {
    const project = await getProject(tx.db, caller, projectId)
    const actor = { actor: ownerActor(caller), project_id: project.id }
    return acknowledgeFor(context, tx, { ownerOf: project.id }, ids, actor)
  })
}

async function acknowledgeFor(
  context: Context,
  tx: Tx,
  recipient: store.Recipient,
  ids: readonly string[],
  record: { readonly actor: Actor; readonly project_id: string },
): Promise<Acknowledged> {
  const found = await store.findAddressed(tx, recipient, ids)
  if (found.length !== ids.length) throw new ApiError('not_found')
  const open = new Set(found.filter((each) => each.acknowledged_at === null).map((each) => each.id))
  const acknowledged = ids.filter((id) => open.has(id))
  const already = ids.filter((id) => !open.has(id))
  if (acknowledged.length === 0) return { acknowledged, already }
  await store.markAcknowledged(tx, acknowledged)
  await recordAudit(tx, {
    kind: 'message.acknowledged',
    ...record,
    subject: { type: 'message', id: acknowledged[0] ?? null },
    details: { message_ids: acknowledged },
  })
  publishReceipts(
    context,
    tx,
    found.filter((each) => open.has(each.id)),
  )
  return { acknowledged, already }
}

/** Publishes receipts to the open streams of each sender, for its own messages only. */
function publishReceipts(context: Context, tx: Tx, found: readonly store.Found[]): void {
  const acknowledged_at = tx.nowIso
  const sent = found.filter(({ sender_kind }) => sender_kind === 'agent')
  for (const [sender, messages] of Map.groupBy(sent, (each) => each.sender_agent_id)) {
    if (sender === null) continue
    const receipts = messages.map(({ id }) => ({ message_id: id, acknowledged_at }))
    tx.afterCommit(() => context.receipts.publish(sender, receipts))
  }
}
