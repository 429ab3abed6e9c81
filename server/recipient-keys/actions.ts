/**
 * Recipient keys. An agent registers its key once, and only an administrator can replace it, so that an
 * attacker who takes over a session cannot redirect the encryption to another key.
 *
 * Spec §5 "Recipient keys"; contract §9 "Recipient key".
 */
import { hash } from 'node:crypto'
import { Encrypter } from 'age-encryption'
import type { RecipientKey } from '../../sdk/contract/agent/peers.ts'
import type { RecipientKeyInput } from '../../sdk/contract/agent/recipient-keys.ts'
import { getAgent } from '../agents/store.ts'
import { ApiError } from '../api-error.ts'
import { agentActor, ownerActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { requireReadable } from '../conversations/rules.ts'
import { findForAgent } from '../conversations/store.ts'
import type { Tx } from '../database/tx.ts'
import { readAs, writeAs } from '../identity/admission.ts'
import type { AgentCaller, OwnerCaller } from '../identity/callers.ts'
import { writeAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { findRecipientKey, putRecipientKey } from './store.ts'

/** Checks the checksum of a recipient, which the schema cannot check. @throws invalid_request */
function requireRecipient({ recipient }: RecipientKeyInput): void {
  try {
    new Encrypter().addRecipient(recipient)
  } catch {
    // The library's message describes its own call; this one names the field.
    const problem = 'is not a valid age X25519 recipient (its checksum is wrong)'
    throw new ApiError('invalid_request', {
      message: `body/recipient ${problem}.`,
      details: { faults: [{ path: 'body/recipient', problem }] },
    })
  }
}

function newKey(tx: Tx, agentId: string, recipient: string, by: 'agent' | 'owner'): RecipientKey {
  const fingerprint = `SHA256:${hash('sha256', recipient, 'base64').replace(/=+$/, '')}`
  return { agent_id: agentId, recipient, fingerprint, registered_at: tx.nowIso, registered_by: by }
}

/** Registers the agent's key. The same key again succeeds. @throws recipient_key_conflict for another key */
export function registerRecipientKey(
  context: Context,
  caller: AgentCaller,
  input: RecipientKeyInput,
): Promise<RecipientKey> {
  return writeAs(context, caller, async (tx, agent) => {
    requireRecipient(input)
    const existing = await findRecipientKey(tx.db, agent.agent_id)
    if (existing?.recipient === input.recipient) return existing
    if (existing !== undefined) throw new ApiError('recipient_key_conflict')
    const key = newKey(tx, agent.agent_id, input.recipient, 'agent')
    await putRecipientKey(tx, key)
    await recordAudit(tx, {
      kind: 'recipient_key.registered',
      actor: agentActor(agent),
      project_id: agent.project_id,
      subject: { type: 'agent', id: agent.agent_id },
      details: { fingerprint: key.fingerprint },
    })
    return key
  })
}

/**
 * Returns the key of the other participant. @throws not_found, also if it has no key or the conversation is
 * with the owner
 */
export function readRecipientKey(context: Context, caller: AgentCaller, id: string): Promise<RecipientKey> {
  return readAs(context, caller, async (db, agent) => {
    const { peer } = requireReadable(await findForAgent(db, agent.project_id, agent.agent_id, id))
    const key = peer && (await findRecipientKey(db, peer.id))
    if (key === undefined) throw new ApiError('not_found')
    return key
  })
}

export function setRecipientKey(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly agent_id: string },
  input: RecipientKeyInput,
): Promise<RecipientKey> {
  return writeAsOwner(context, caller, ids.id, async (tx) => {
    const project = await getProject(tx.db, caller, ids.id)
    const agent = await getAgent(tx.db, project.id, ids.agent_id)
    requireRecipient(input)
    const key = newKey(tx, agent.id, input.recipient, 'owner')
    await putRecipientKey(tx, key)
    await recordAudit(tx, {
      kind: 'recipient_key.set',
      actor: ownerActor(caller),
      project_id: project.id,
      subject: { type: 'agent', id: agent.id },
      details: { fingerprint: key.fingerprint },
    })
    return key
  })
}
