/**
 * Fences sessions in the transaction that revokes an agent's access. Their open waits end after the commit.
 *
 * Spec §3 "old session fenced"; contract §5, §6.
 */
import { type Actor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Tx } from '../database/tx.ts'
import { endSessions } from './store.ts'

export async function fence(
  context: Pick<Context, 'wakeups'>,
  tx: Tx,
  which: { readonly agentId: string } | { readonly credentialId: string } | { readonly id: string },
  cause: { readonly actor: Actor; readonly project_id: string; readonly reason: string },
): Promise<void> {
  for (const session of await endSessions(tx, 'fenced', which)) {
    await recordAudit(tx, {
      kind: 'session.fenced',
      actor: cause.actor,
      project_id: cause.project_id,
      subject: { type: 'session', id: session.id },
      details: { reason: cause.reason, agent_id: session.agent_id },
    })
    tx.afterCommit(() => context.wakeups.notify(session.agent_id))
  }
}
