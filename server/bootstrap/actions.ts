/** The bootstrap, which an agent reads before anything else. Contract §5. */
import type { Bootstrap } from '../../sdk/contract/agent/bootstrap.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { Context } from '../context.ts'
import { findOwnerConversation } from '../conversations/store.ts'
import { readAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { getPolicy } from '../projects/store.ts'
import { capabilitiesOf } from './capabilities.ts'
import { renderInstructions } from './instructions.ts'

const advertised = {
  json_body_bytes: limits.jsonBodyBytes,
  message_body_bytes: limits.messageBodyBytes,
  page_max: limits.pageMax,
  inbox_wait_seconds: limits.inboxWaitSeconds,
  redelivery_seconds: limits.redeliverySeconds,
  waits_per_session: limits.waitsPerSession,
} as const

export function readBootstrap(context: Context, caller: AgentCaller): Promise<Bootstrap> {
  return readAs(context, caller, async (db, agent, now) => {
    const row = await db
      .selectFrom('agents')
      .innerJoin('projects', 'projects.id', 'agents.project_id')
      .select(['agents.name', 'role_name', 'agents.description', 'prompt_template', 'instructions'])
      .select('projects.name as project_name')
      .where('agents.id', '=', agent.agent_id)
      .executeTakeFirstOrThrow()
    return {
      server_id: context.serverId,
      server_time: now.toISOString(),
      agent: { id: agent.agent_id, name: row.name, role_name: row.role_name },
      project: { id: agent.project_id, name: row.project_name, state: agent.project_state },
      credential: { id: agent.credential_id, binding: agent.binding, scopes: [...agent.scopes] },
      instructions: renderInstructions(row),
      owner_conversation_id: (await findOwnerConversation(db, agent.agent_id))?.id ?? null,
      policy: await getPolicy(db, agent.project_id),
      capabilities: capabilitiesOf(context),
      limits: { ...advertised },
    }
  })
}
