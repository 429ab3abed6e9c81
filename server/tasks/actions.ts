/**
 * Actions of agents on tasks: create, claim, work, finish, cancel.
 *
 * Order inside the transaction: admission, the stored idempotent answer, the task (404), permission, pause
 * and pairing, the named claim, the state.
 *
 * Spec §3, §4.2; contract §2 "Order", §8.
 */
import type {
  TaskClaimInput,
  TaskCompleteInput,
  TaskFailInput,
  TaskHolder,
  TaskInput,
  TaskProgressInput,
} from '../../sdk/contract/agent/tasks.ts'
import { limits } from '../../sdk/contract/limits.ts'
import { ApiError } from '../api-error.ts'
import { type Actor, agentActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import { conversationWithPeer } from '../conversations/actions.ts'
import { answerOf, inboxOf } from '../database/touches.ts'
import type { Tx } from '../database/tx.ts'
import type { TaskRow } from '../database/work-tables.ts'
import { type Answer, agentPrincipal, type Keyed, once } from '../idempotency.ts'
import { type Admitted, writeAs } from '../identity/admission.ts'
import type { AgentCaller } from '../identity/callers.ts'
import { requireProjectActive } from '../projects/rules.ts'
import { cancelling } from './cancelling.ts'
import { type Change, reconcile, recordChange, recordTask } from './changes.ts'
import { notify, resultInMessage } from './notices.ts'
import { causes, decide, requireClaim, type TaskEvent, type TaskState } from './rules.ts'
import * as store from './store.ts'
import { claimOf, toTask } from './views.ts'

export function createTask(
  context: Context,
  caller: AgentCaller,
  input: TaskInput,
  keyed: Keyed,
): Promise<Answer> {
  const unit = (tx: Tx, agent: Admitted) =>
    once(tx, agentPrincipal(agent), keyed, async () => {
      // An agent is not its own peer, so assigning a task to itself is `not_found`.
      const conversation_id = await conversationWithPeer(tx, agent, input.assignee_agent_id)
      const task = store.newTaskRow(tx, {
        ...taskFields(input),
        project_id: agent.project_id,
        conversation_id,
        creator_kind: 'agent',
        creator_agent_id: agent.agent_id,
        creator_name: agent.agent_name,
      })
      await addTask(context, tx, task, { from: agent.agent_name, actor: agentActor(agent) })
      return toTask(task, context.steady)
    })
  return writeAs(context, caller, unit, {
    alone: [answerOf(caller.agent_id, keyed.key)],
    together: [inboxOf(input.assignee_agent_id)],
  })
}

/**
 * Stores a new task and reports it to its assignee. The notice comes first, because nothing is written if the
 * inbox is full. @throws capacity_reached
 */
export async function addTask(
  context: Context,
  tx: Tx,
  task: TaskRow,
  { from, actor }: { readonly from: string; readonly actor: Actor },
): Promise<void> {
  await notify(context, tx, task, { to: 'assignee', what: `new task from ${from}`, needsRoom: true })
  await store.insertTask(tx, task)
  await recordTask(tx, task, { kind: 'task.created', actor })
  context.taskSides.note(task)
}

/** The fields of a task that come from its input. */
export const taskFields = (input: TaskInput) => ({
  assignee_agent_id: input.assignee_agent_id,
  title: input.title,
  instructions: input.instructions,
  due_at: input.due_at ?? null,
  claim_ttl_seconds: input.claim_ttl_seconds ?? limits.claimTtlSeconds.default,
  max_attempts: input.max_attempts ?? limits.taskAttempts.default,
})

/** One mutation of a task by an agent. */
interface Mutation {
  readonly id: string
  readonly event: TaskEvent
  readonly keyed: Keyed
  readonly holder?: TaskHolder
  readonly what: (at: Moment) => Omit<Change, 'actor'>
}

/** The current task and the state that the transition table gives. */
export interface Moment {
  readonly task: TaskRow
  readonly next: TaskState
  readonly agent: Admitted
  readonly nowIso: string
  /** Returns when a claim that is taken or renewed now expires, in steady time. */
  readonly endIn: (seconds: number) => string
}

function mutate(context: Context, caller: AgentCaller, mutation: Mutation): Promise<Answer> {
  const unit = (tx: Tx, agent: Admitted) =>
    once(tx, agentPrincipal(agent), mutation.keyed, async () => {
      const task = await requireAllowed(context, tx, agent, mutation)
      const next = decide(task, mutation.event, () => holderOf(context, task))
      const what = mutation.what({
        task,
        next,
        agent,
        nowIso: tx.nowIso,
        endIn: (seconds) => tx.endIn(seconds),
      })
      return toTask(
        await recordChange(context, tx, task, { ...what, actor: agentActor(agent) }),
        context.steady,
      )
    })
  const answer = { principal: caller.agent_id, key: mutation.keyed.key }
  return writeAs(context, caller, unit, context.taskSides.touchedBy(mutation.id, answer))
}

/**
 * Checks permission and claim and returns the current task. @throws not_found, not_permitted, project_paused,
 * pairing_disabled, claim_lost
 */
async function requireAllowed(
  context: Context,
  tx: Tx,
  agent: Admitted,
  { id, event, holder }: Mutation,
): Promise<TaskRow> {
  const found = await store.findForAgent(tx.db, agent.project_id, agent.agent_id, id)
  if (found === undefined) throw new ApiError('not_found')
  context.taskSides.note(found)
  const side = causes[event] === 'creator' ? found.creator_agent_id : found.assignee_agent_id
  if (side !== agent.agent_id) throw notPermitted(event)
  if (event === 'claim') {
    requireProjectActive(agent.project_state)
    if (!(await store.isPairOpen(tx.db, found))) throw new ApiError('pairing_disabled')
  }
  const task = await reconcile(context, tx, found)
  if (holder !== undefined)
    requireClaim(task, event, { ...holder, calling_generation: agent.session.generation })
  return task
}

const notPermitted = (event: TaskEvent) =>
  new ApiError('not_permitted', {
    message:
      event === 'cancel'
        ? 'Only the creator of the task or the owner can cancel it. Its assignee can decline, release or fail it.'
        : 'Only the assignee of the task can do this. Its creator can cancel it.',
  })

/** Details of a refused claim: the holder and the expiry. */
function holderOf(context: Context, task: TaskRow) {
  const claim = claimOf(task, context.steady)
  return {
    holder: {
      agent_id: task.assignee_agent_id,
      session_id: claim?.session_id,
      session_generation: claim?.session_generation,
    },
    expires_at: claim?.expires_at,
  }
}

type Mutating<Input> = (
  context: Context,
  caller: AgentCaller,
  id: string,
  input: Input,
  keyed: Keyed,
) => Promise<Answer>

/** The fields of a task whose claim has ended. */
const claimEnded = (state: TaskState, how: 'finished' | 'released') => ({
  state,
  claim_ends_at: null,
  claim_end: how,
})

/** Returns the lifetime of a claim in seconds. A claim may only shorten that of its task. */
const lifetimeOf = (task: TaskRow, own: number | null | undefined): number =>
  Math.min(task.claim_ttl_seconds, own ?? task.claim_ttl_seconds)

export const claimTask: Mutating<TaskClaimInput> = (context, caller, id, input, keyed) =>
  mutate(context, caller, {
    id,
    event: 'claim',
    keyed,
    what: ({ task, next, agent, nowIso, endIn }) => ({
      kind: 'task.claimed',
      change: {
        state: next,
        claim_own_ttl_seconds: input.claim_ttl_seconds ?? null,
        attempts: task.attempts + 1,
        claim_generation: task.claim_generation + 1,
        claim_session_id: agent.session.id,
        claim_session_generation: agent.session.generation,
        claimed_at: nowIso,
        claim_ends_at: endIn(lifetimeOf(task, input.claim_ttl_seconds)),
        claim_end: null,
      },
      notices: [
        {
          to: 'creator',
          what: `claimed by ${agent.agent_name}, attempt ${task.attempts + 1} of ${task.max_attempts}`,
        },
      ],
    }),
  })

export const renewTask: Mutating<TaskHolder> = (context, caller, id, holder, keyed) =>
  mutate(context, caller, {
    id,
    event: 'renew',
    keyed,
    holder,
    what: ({ task, next, endIn }) => ({
      kind: 'task.renewed',
      change: { state: next, claim_ends_at: endIn(lifetimeOf(task, task.claim_own_ttl_seconds)) },
      notices: [],
    }),
  })

export const reportProgress: Mutating<TaskProgressInput> = (context, caller, id, input, keyed) =>
  mutate(context, caller, {
    id,
    event: 'progress',
    keyed,
    holder: input,
    what: ({ next, nowIso }) => ({
      kind: 'task.progressed',
      change: {
        state: next,
        progress_note: input.note ?? null,
        progress_percent: input.percent ?? null,
        progress_at: nowIso,
      },
      notices: [],
      percent: input.percent,
    }),
  })

export const completeTask: Mutating<TaskCompleteInput> = (context, caller, id, input, keyed) =>
  mutate(context, caller, {
    id,
    event: 'complete',
    keyed,
    holder: input,
    what: ({ next, nowIso, agent }) => ({
      kind: 'task.completed',
      change: {
        ...claimEnded(next, 'finished'),
        outcome_kind: 'completed',
        outcome_result: input.result,
        outcome_evidence: JSON.stringify(input.evidence),
        outcome_at: nowIso,
      },
      notices: [
        { to: 'creator', what: `completed by ${agent.agent_name}`, ...resultInMessage(input.result) },
      ],
    }),
  })

export const failTask: Mutating<TaskFailInput> = (context, caller, id, input, keyed) =>
  mutate(context, caller, {
    id,
    event: 'fail',
    keyed,
    holder: input,
    what: ({ next, nowIso, agent }) => ({
      kind: 'task.failed',
      change: {
        ...claimEnded(next, 'finished'),
        outcome_kind: 'failed',
        outcome_result: input.reason,
        outcome_evidence: JSON.stringify(input.evidence ?? []),
        outcome_at: nowIso,
      },
      notices: [{ to: 'creator', what: `failed, reported by ${agent.agent_name}`, quote: input.reason }],
    }),
  })

export const releaseTask: Mutating<TaskHolder & { reason: string }> = (context, caller, id, input, keyed) =>
  mutate(context, caller, {
    id,
    event: 'release',
    keyed,
    holder: input,
    what: ({ next, nowIso, agent }) => ({
      kind: 'task.released',
      change: { ...claimEnded(next, 'released'), ...outcomeOfRelease(next, input.reason, nowIso) },
      notices: [
        { to: 'creator', what: `released by ${agent.agent_name}, the task is ${next}`, quote: input.reason },
      ],
      released: input.reason,
    }),
  })

/**
 * The further changes of a release. The task fails if its attempts are used up. If a cancellation was
 * requested, the release confirms the stop.
 */
function outcomeOfRelease(next: TaskState, reason: string, nowIso: string): store.TaskChange {
  if (next === 'cancelled') return { stop_confirmed_at: nowIso }
  if (next !== 'failed') return {}
  return { outcome_kind: 'attempts_exhausted', outcome_result: reason, outcome_at: nowIso }
}

export const declineTask: Mutating<{ reason?: string }> = (context, caller, id, { reason }, keyed) =>
  mutate(context, caller, {
    id,
    event: 'decline',
    keyed,
    what: ({ next, nowIso, agent }) => ({
      kind: 'task.declined',
      change: {
        state: next,
        outcome_kind: 'declined',
        outcome_result: reason ?? null,
        outcome_at: nowIso,
      },
      notices: [{ to: 'creator', what: `declined by ${agent.agent_name}`, quote: reason }],
    }),
  })

export const cancelTask: Mutating<{ reason?: string }> = (context, caller, id, { reason }, keyed) =>
  mutate(context, caller, {
    id,
    event: 'cancel',
    keyed,
    what: ({ task, next, nowIso, agent }) =>
      cancelling(task, next, {
        by: { kind: 'agent', agent_id: agent.agent_id, name: agent.agent_name },
        reason: reason ?? null,
        nowIso,
      }),
  })

export const confirmStopped: Mutating<TaskHolder> = (context, caller, id, holder, keyed) =>
  mutate(context, caller, {
    id,
    event: 'stopped',
    keyed,
    holder,
    what: ({ task, next, nowIso, agent }) => {
      const isFirst = task.stop_confirmed_at === null
      return {
        kind: 'task.stopped',
        change: {
          ...(task.state === 'cancelled' ? {} : claimEnded(next, 'finished')),
          stop_confirmed_at: task.stop_confirmed_at ?? nowIso,
        },
        notices: isFirst ? [{ to: 'creator', what: `cancelled, ${agent.agent_name} has stopped` }] : [],
      }
    },
  })
