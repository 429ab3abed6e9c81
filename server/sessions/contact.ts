/**
 * Stores when an agent plans to make contact again. The schedule belongs to its session, and an open wait
 * overrides it. Contract §6.
 */
import type { ConnectionModeSet, ContactSchedule } from '../../sdk/contract/presence.ts'
import { agentActor, recordAudit } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { connectionOf } from './store.ts'

export function reportConnectionMode(
  context: Context,
  caller: AgentCaller,
  schedule: ContactSchedule,
): Promise<ConnectionModeSet> {
  return writeAs(context, caller, async (tx, agent) => {
    await tx.db
      .updateTable('sessions')
      .set({
        contact_mode: schedule.mode,
        contact_interval_seconds: schedule.mode === 'short_poll' ? schedule.interval_seconds : null,
        last_contact_at: tx.steadyIso,
      })
      .where('id', '=', agent.session.id)
      .execute()
    await recordAudit(tx, {
      kind: 'session.schedule_reported',
      actor: agentActor(agent),
      project_id: agent.project_id,
      subject: { type: 'session', id: agent.session.id },
      details: { ...schedule },
    })
    return { schedule, connection: await connectionOf(context, tx.db, agent.agent_id, tx.steadyNow) }
  })
}
