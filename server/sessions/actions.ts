/** Starts, resumes and closes sessions. Contract §5. */
import type { Session, SessionClosed, SessionInput } from '../../sdk/contract/agent/sessions.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { agentActor, recordAudit, wasRecorded } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { insertPairing } from '../conversations/pairs.ts'
import type { SessionRow } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { type Admitted, renewContact, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { getPolicy } from '../projects/store.ts'
import { requireChallenge } from './challenges.ts'
import { fence } from './fencing.ts'
import { decideStart, type Liveness, ReplacementRefusedError, requireReplacementRoom } from './rules.ts'
import * as store from './store.ts'
import { type Redeemed, redeemTakeover } from './takeovers.ts'

export function startSession(context: Context, caller: AgentCaller, input: SessionInput): Promise<Session> {
  const started = writeAs(context, caller, async (tx, agent) => {
    await requireChallenge(tx, caller, agent, input.challenge)
    const active = await store.findActive(tx.db, agent.agent_id)
    const { agent_id, credential_id, binding } = agent
    const newcomer = { credential_id, instance_id: input.instance_id, binding }
    const redeemed = await redeemTakeover(
      context,
      tx,
      { ...newcomer, agent_id, active },
      input.takeover_grant,
    )
    const start =
      redeemed === 'repeated'
        ? 'resume'
        : decideStart(active, newcomer, await livenessOf(context, tx, agent, active))
    const session =
      start === 'resume' && active !== undefined
        ? await resume(context, tx, agent, active)
        : await begin(context, tx, agent, input, { active, redeemed })
    context.presence.touch(agent.agent_id, session.id, tx.steadyNow)
    tx.afterCommit(() => context.presence.saved(session.id, tx.steadyNow))
    await pairWithProject(tx, agent)
    return {
      id: session.id,
      agent_id: session.agent_id,
      project_id: session.project_id,
      generation: session.generation,
      resumed: start === 'resume',
      started_at: context.steady.wall(session.started_at),
      replaced_session_id: session.replaced_session_id,
      policy: await getPolicy(tx.db, agent.project_id),
    }
  })
  return started.catch((error: unknown) => recordRefusal(context, caller, error))
}

/**
 * Records a refused replacement in a separate transaction, because the refusal undoes its own. Only the first
 * one per window is recorded.
 */
async function recordRefusal(context: Context, caller: AgentCaller, error: unknown): Promise<never> {
  if (!(error instanceof ReplacementRefusedError)) throw error
  const { agent_id: id, agent_name: name, project_id, request_id } = caller
  const kind = 'session.replacement_refused'
  await context.write(project_id, async (tx) => {
    if (await wasRecorded(tx, { kind, project_id, id, since: replacementsSince(tx.steadyNow) })) return
    await recordAudit(tx, {
      kind,
      actor: { kind: 'agent', id, name, request_id },
      project_id,
      subject: { type: 'agent', id },
      details: { limit: limits.sessionReplacements, window_seconds: limits.sessionReplacementWindowSeconds },
    })
  })
  throw error
}

const replacementsSince = (now: Date): string =>
  new Date(now.getTime() - limits.sessionReplacementWindowSeconds * 1000).toISOString()

async function livenessOf(
  context: Context,
  tx: Tx,
  agent: Admitted,
  active: SessionRow | undefined,
): Promise<Liveness> {
  const observed = context.presence.lastContact(agent.agent_id)?.toISOString() ?? ''
  const stored = active?.last_contact_at ?? ''
  const last = observed > stored ? observed : stored
  return {
    silentMs: tx.steadyNow.getTime() - Date.parse(last),
    last_contact_at: last && context.steady.wall(last),
    isOccupied: context.presence.isOccupied(agent.agent_id),
    holdsClaim:
      active !== undefined && (await store.holdsClaim(tx.db, agent.agent_id, active.id, tx.steadyIso)),
    mode: active?.contact_mode ?? null,
    intervalSeconds: active?.contact_interval_seconds ?? null,
  }
}

async function resume(context: Context, tx: Tx, agent: Admitted, active: SessionRow): Promise<SessionRow> {
  await renewContact(context, tx, active.id)
  await recordAudit(tx, {
    kind: 'session.resumed',
    actor: agentActor(agent),
    project_id: agent.project_id,
    subject: { type: 'session', id: active.id },
    details: { generation: active.generation },
  })
  return active
}

async function begin(
  context: Context,
  tx: Tx,
  agent: Admitted,
  input: SessionInput,
  { active, redeemed }: { readonly active: SessionRow | undefined; readonly redeemed: Redeemed },
): Promise<SessionRow> {
  const takeover = typeof redeemed === 'object' ? redeemed : undefined
  const replaced = active?.id ?? takeover?.fenced_session_id ?? null
  if (active !== undefined) {
    requireReplacementRoom(
      await store.listReplacements(tx, agent.agent_id, replacementsSince(tx.steadyNow)),
      tx.steadyNow,
    )
    await fence(
      context,
      tx,
      { id: active.id },
      {
        actor: agentActor(agent),
        project_id: agent.project_id,
        reason: 'replaced',
      },
    )
  }
  const session = await store.insertSession(tx, {
    project_id: agent.project_id,
    agent_id: agent.agent_id,
    credential_id: agent.credential_id,
    instance_id: input.instance_id,
    generation: await store.nextGeneration(tx, agent.agent_id),
    client_name: input.client.name,
    client_version: input.client.version,
    replaced_session_id: replaced,
    grant_sha256: takeover?.grant_sha256 ?? null,
  })
  await recordAudit(tx, {
    kind: 'session.started',
    actor: agentActor(agent),
    project_id: agent.project_id,
    subject: { type: 'session', id: session.id },
    details: {
      generation: session.generation,
      client: input.client,
      replaced_session_id: replaced,
    },
  })
  return session
}

async function pairWithProject(tx: Tx, agent: Admitted): Promise<void> {
  for (const peerId of await store.findUnpaired(tx, agent.project_id, agent.agent_id)) {
    await insertPairing(tx, agent.project_id, agent.agent_id, peerId)
  }
}

export function closeSession(context: Context, caller: AgentCaller): Promise<SessionClosed> {
  return writeAs(context, caller, async (tx, agent) => {
    await store.endSessions(tx, 'closed', { id: agent.session.id })
    await recordAudit(tx, {
      kind: 'session.closed',
      actor: agentActor(agent),
      project_id: agent.project_id,
      subject: { type: 'session', id: agent.session.id },
    })
    tx.afterCommit(() => context.wakeups.notify(agent.agent_id))
    return { id: agent.session.id, closed_at: tx.nowIso }
  })
}
