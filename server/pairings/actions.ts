/**
 * Actions of the owner on pairings. A disabled pair immediately loses sending, history and listing. Contract
 * §10.
 */
import type { PairingInput, PairingResult } from '../../sdk/contract/owner/pairings.ts'
import { getAgent } from '../agents/store.ts'
import { ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { findPeerConversation } from '../conversations/store.ts'
import type { ByAgentQuery } from '../credentials/store.ts'
import type { Tx } from '../database/tx.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner, writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { cancelOpenOfPair } from '../transfers/owner-actions.ts'
import { removePackagesSoon } from '../transfers/package-removal.ts'
import * as store from './store.ts'

export async function setPairing(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  input: PairingInput,
): Promise<PairingResult> {
  const { pairing, packages } = await writeAsOwner(context, caller, projectId, async (tx) => {
    const project = await getProject(tx.db, caller, projectId)
    const [one = '', other = ''] = input.agent_ids
    await getAgent(tx.db, project.id, one)
    await getAgent(tx.db, project.id, other)
    const row = await store.upsertPairing(tx, project.id, [one, other], input.enabled)
    await recordAudit(tx, {
      kind: input.enabled ? 'pairing.enabled' : 'pairing.disabled',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'pairing', id: row.id },
      details: { agent_ids: [row.agent_a, row.agent_b] },
    })
    const ended = input.enabled ? [] : await endTransfers(context, tx, caller, [one, other])
    for (const id of [one, other]) tx.afterCommit(() => context.wakeups.notify(id))
    return { pairing: store.toPairing(row), packages: ended }
  })
  await removePackagesSoon(context, packages)
  return pairing
}

async function endTransfers(
  context: Context,
  tx: Tx,
  caller: OwnerCaller,
  [one, other]: readonly [string, string],
): Promise<string[]> {
  const conversation = await findPeerConversation(tx.db, one, other)
  return conversation === undefined ? [] : cancelOpenOfPair(context, tx, caller, conversation.id)
}

export function listPairings(context: Context, caller: OwnerCaller, projectId: string, query: ByAgentQuery) {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const { items: pairings, ...page } = await store.listPairings(db, project.id, query)
    return { pairings, ...page }
  })
}
