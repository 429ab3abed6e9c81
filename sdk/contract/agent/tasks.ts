/**
 * Tasks: one piece of work for one agent, with a claim that expires and a result that carries evidence.
 *
 * Every mutation takes an Idempotency-Key. The holder of a claim names it by claim generation and session
 * generation, and sends the same two numbers when it retries. The node refuses a stale generation with
 * `claim_lost`.
 *
 * Spec §3, §4.2; contract §8.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { endpoint } from '../endpoint.ts'
import { limits } from '../limits.ts'
import {
  IdParams,
  Line,
  Name,
  Nullable,
  named,
  PageQuery,
  pageOf,
  ref,
  Strict,
  Text,
  Timestamp,
  Uuid,
  words,
} from '../primitives.ts'

/** The states of a task. */
export const taskStates = [
  'open',
  'claimed',
  'cancel_requested',
  'completed',
  'failed',
  'declined',
  'cancelled',
] as const
/** One of {@link taskStates}. */
export type TaskState = (typeof taskStates)[number]

export const TaskState = words(taskStates)
/** A final state: the task never changes again. */
export type FinalTaskState = Exclude<TaskState, 'open' | 'claimed' | 'cancel_requested'>
/** Every {@link FinalTaskState}. */
export const finalTaskStates: ReadonlySet<TaskState> = new Set<FinalTaskState>([
  'completed',
  'failed',
  'declined',
  'cancelled',
])

const { claimTtlSeconds, taskAttempts } = limits
const optionalInteger = ({ min, max, default: fallback }: { min: number; max: number; default: number }) =>
  Type.Optional(Type.Integer({ minimum: min, maximum: max, default: fallback }))

export const TaskInput = named(
  'TaskInput',
  Strict({
    assignee_agent_id: Uuid,
    title: Line(limits.taskTitleChars),
    instructions: Text(limits.taskInstructionsBytes, 1),
    due_at: Type.Optional(Timestamp),
    claim_ttl_seconds: optionalInteger(claimTtlSeconds),
    max_attempts: optionalInteger(taskAttempts),
  }),
)
export type TaskInput = Static<typeof TaskInput>

/** Kinds of evidence for the result of a task. */
export const evidenceKinds = ['text', 'url', 'commit', 'file', 'command', 'message', 'transfer'] as const

export const Evidence = named(
  'Evidence',
  Strict({
    kind: words(evidenceKinds),
    value: Text(limits.evidenceBytes, 1),
    label: Type.Optional(Line(limits.taskTitleChars)),
    sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$', maxLength: 64 })),
    exit_code: Type.Optional(Type.Integer({ minimum: -2_147_483_648, maximum: 4_294_967_295 })),
  }),
)
export type Evidence = Static<typeof Evidence>

/** Actor of a task event: an agent or the owner. */
export const TaskParty = named(
  'TaskParty',
  Type.Object({ kind: words(['agent', 'owner']), agent_id: Nullable(Uuid), name: Name }),
)
export type TaskParty = Static<typeof TaskParty>

/** Ways in which a task ends, apart from cancellation. */
export const outcomeKinds = ['completed', 'failed', 'attempts_exhausted', 'declined'] as const
export type OutcomeKind = (typeof outcomeKinds)[number]

const Generation = Type.Integer({ minimum: 1, maximum: limits.sequenceMax })

export const Task = named(
  'Task',
  Type.Object({
    id: Uuid,
    project_id: Uuid,
    conversation_id: Uuid,
    creator: ref(TaskParty),
    assignee_agent_id: Uuid,
    title: Line(limits.taskTitleChars),
    instructions: Type.String(),
    state: TaskState,
    attempts: Type.Integer({ minimum: 0 }),
    max_attempts: Type.Integer({ minimum: 1 }),
    claim_ttl_seconds: Type.Integer({ minimum: 1 }),
    due_at: Nullable(Timestamp),
    claim: Nullable(
      Type.Object({
        generation: Generation,
        session_id: Uuid,
        session_generation: Generation,
        claimed_at: Timestamp,
        expires_at: Timestamp,
      }),
    ),
    cancellation: Nullable(
      Type.Object({
        requested_at: Timestamp,
        requested_by: ref(TaskParty),
        reason: Nullable(Type.String()),
        stop_confirmed_at: Nullable(Timestamp),
      }),
    ),
    progress: Nullable(
      Type.Object({
        note: Nullable(Type.String()),
        percent: Nullable(Type.Integer({ minimum: 0, maximum: 100 })),
        reported_at: Timestamp,
      }),
    ),
    outcome: Nullable(
      Type.Object({
        kind: words(outcomeKinds),
        result: Nullable(Type.String()),
        evidence: Type.Array(ref(Evidence)),
        reported_at: Timestamp,
      }),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)
export type Task = Static<typeof Task>

export const TaskList = named('TaskList', pageOf('tasks', Task))
export type TaskList = Static<typeof TaskList>

/**
 * One timeline entry per mutation or claim expiry of a task. It carries reasons, but no notes, results or
 * evidence.
 */
export const TaskEntry = named(
  'TaskEntry',
  Type.Object({
    id: Uuid,
    at: Timestamp,
    event: Type.String({ description: 'created, claimed, renewed, progressed, completed, failed, …' }),
    actor: Type.Object({ kind: words(['agent', 'owner', 'system']), name: Name }),
    state: TaskState,
    claim_generation: Nullable(Type.Integer({ minimum: 0 })),
    reason: Nullable(Type.String()),
    percent: Nullable(Type.Integer({ minimum: 0, maximum: 100 })),
  }),
)
export type TaskEntry = Static<typeof TaskEntry>

export const TaskTimeline = named('TaskTimeline', pageOf('entries', TaskEntry))
export type TaskTimeline = Static<typeof TaskTimeline>

const Reason = Text(limits.taskReasonBytes, 1)

/** The two numbers by which a holder names its claim. */
const held = { claim_generation: Generation, session_generation: Generation }
const Held = <T extends Record<string, TSchema>>(name: string, more: T) =>
  named(name, Strict({ ...held, ...more }))

const evidenceOf = (minItems: number) =>
  Type.Array(ref(Evidence), { minItems, maxItems: limits.evidenceItems })

export const TaskHolder = Held('TaskHolder', {})
export type TaskHolder = Static<typeof TaskHolder>

export const TaskClaimInput = named(
  'TaskClaimInput',
  Strict({
    claim_ttl_seconds: Type.Optional(
      Type.Integer({
        minimum: claimTtlSeconds.min,
        maximum: claimTtlSeconds.max,
        description: "Lifetime of this claim and of each renewal, if shorter than the task's.",
      }),
    ),
  }),
)
export type TaskClaimInput = Static<typeof TaskClaimInput>

export const TaskProgressInput = Held('TaskProgressInput', {
  note: Type.Optional(Text(limits.taskNoteBytes, 1)),
  percent: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
})
export type TaskProgressInput = Static<typeof TaskProgressInput>

export const TaskCompleteInput = Held('TaskCompleteInput', {
  result: Text(limits.taskResultBytes, 1),
  evidence: evidenceOf(1),
})
export type TaskCompleteInput = Static<typeof TaskCompleteInput>

export const TaskFailInput = Held('TaskFailInput', {
  reason: Reason,
  evidence: Type.Optional(evidenceOf(0)),
})
export type TaskFailInput = Static<typeof TaskFailInput>

export const TaskReleaseInput = Held('TaskReleaseInput', { reason: Reason })
export type TaskReleaseInput = Static<typeof TaskReleaseInput>

export const TaskReasonInput = named('TaskReasonInput', Strict({ reason: Type.Optional(Reason) }))
export type TaskReasonInput = Static<typeof TaskReasonInput>

export const taskFilters = { state: Type.Optional(TaskState) }

export const taskRoles = ['assignee', 'creator'] as const
export type TaskRole = (typeof taskRoles)[number]

export const TaskListQuery = Strict({
  ...PageQuery.properties,
  ...taskFilters,
  role: Type.Optional(words(taskRoles)),
  wait_seconds: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.inboxWaitSeconds, default: 0 })),
})
export type TaskListQuery = Static<typeof TaskListQuery>

/** Common part of the mutations whose path holds the task id. */
const mutation = {
  method: 'POST',
  caller: 'agent',
  scope: ['tasks'],
  idempotent: true,
  params: IdParams,
} as const
const mutated = { response: Task } as const

export const tasks = {
  create: endpoint({
    id: 'tasks.create',
    method: 'POST',
    path: '/api/v1/tasks',
    caller: 'agent',
    scope: ['tasks'],
    idempotent: true,
    summary: 'Create a task for a peer together with its `task` message, atomically.',
    body: TaskInput,
    response: Task,
    errors: [
      'not_found',
      'pairing_disabled',
      'state_conflict',
      'idempotency_conflict',
      'project_paused',
      'capacity_reached',
    ],
  }),
  list: endpoint({
    id: 'tasks.list',
    method: 'GET',
    path: '/api/v1/tasks',
    caller: 'agent',
    scope: ['tasks'],
    summary:
      "List the caller's tasks, oldest first, after ending expired claims. With `wait_seconds`, wait until there is one.",
    query: TaskListQuery,
    response: TaskList,
    errors: ['wait_limit', 'capacity_reached'],
  }),
  get: endpoint({
    id: 'tasks.get',
    method: 'GET',
    path: '/api/v1/tasks/{id}',
    caller: 'agent',
    scope: ['tasks'],
    summary: 'Read one task, as its creator or assignee.',
    params: IdParams,
    response: Task,
    errors: ['not_found'],
  }),
  timeline: endpoint({
    id: 'tasks.timeline',
    method: 'GET',
    path: '/api/v1/tasks/{id}/timeline',
    caller: 'agent',
    scope: ['tasks'],
    summary: 'Read the timeline of a task, oldest entry first.',
    params: IdParams,
    query: PageQuery,
    response: TaskTimeline,
    errors: ['not_found'],
  }),
  claim: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.claim',
    path: '/api/v1/tasks/{id}/claim',
    summary: 'Claim an open task, as its assignee. The claim expires unless it is renewed.',
    body: TaskClaimInput,
    errors: [
      'not_found',
      'not_permitted',
      'state_conflict',
      'claim_held',
      'idempotency_conflict',
      'project_paused',
      'pairing_disabled',
    ],
  }),
  renew: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.renew',
    path: '/api/v1/tasks/{id}/renew',
    summary: 'Extend the claim by its lifetime again. The answer shows whether cancellation was requested.',
    body: TaskHolder,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
  progress: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.progress',
    path: '/api/v1/tasks/{id}/progress',
    summary: 'Report progress. This does not renew the claim.',
    body: TaskProgressInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
  complete: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.complete',
    path: '/api/v1/tasks/{id}/complete',
    summary: 'Report the result, with at least one item of evidence.',
    body: TaskCompleteInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
  fail: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.fail',
    path: '/api/v1/tasks/{id}/fail',
    summary: 'Fail the task permanently, with a reason.',
    body: TaskFailInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
  release: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.release',
    path: '/api/v1/tasks/{id}/release',
    summary: 'Give the claim back. The task is open again, or failed if its attempts are used up.',
    body: TaskReleaseInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
  decline: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.decline',
    path: '/api/v1/tasks/{id}/decline',
    summary: 'Refuse an open task, as its assignee.',
    body: TaskReasonInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'idempotency_conflict'],
  }),
  cancel: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.cancel',
    path: '/api/v1/tasks/{id}/cancel',
    summary: 'Cancel a task, as its creator. If it is claimed, the holder is asked to stop and confirms.',
    body: TaskReasonInput,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'idempotency_conflict'],
  }),
  stopped: endpoint({
    ...mutation,
    ...mutated,
    id: 'tasks.stopped',
    path: '/api/v1/tasks/{id}/stopped',
    summary: 'Confirm that the work of a cancelled task has stopped.',
    body: TaskHolder,
    errors: ['not_found', 'not_permitted', 'state_conflict', 'claim_lost', 'idempotency_conflict'],
  }),
}
