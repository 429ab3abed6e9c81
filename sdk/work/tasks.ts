/**
 * Tasks: give work to a peer, or claim it and report its result with evidence. A claim expires unless it is
 * renewed.
 *
 * The holder of a claim passes the `Task` that `claim` returned, which carries claim generation and session
 * generation. If one of them is stale, the node refuses with `claim_lost`: stop the work then.
 *
 * Contract §8. See {@link Tasks.work} for a loop that does all of it.
 */
import type { Directory } from '../agent/directory.ts'
import type { SessionKeeper } from '../agent/session.ts'
import {
  type Evidence,
  tasks as entries,
  type Task,
  type TaskEntry,
  type TaskHolder,
  type TaskInput,
  type TaskList,
  type TaskTimeline,
} from '../contract/agent/tasks.ts'
import { limits } from '../contract/limits.ts'
import { asId } from '../names.ts'
import { type Call, everyItem, given, type PageOptions } from '../resources/call.ts'
import { BridgeError } from '../transport/failures.ts'
import type { CallOptions, KeyedOptions } from '../transport/http.ts'
import type { TaskMessages } from '../waiting/task-messages.ts'
import type { Watch } from '../waiting/watch.ts'
import type { ClaimOptions, HeldTask, TaskCalls, TaskListOptions } from './calls.ts'
import { type EndedTask, type TaskWaitOptions, waitForTask } from './task-ends.ts'
import type { TaskHandler, Worked, WorkOptions } from './work.ts'

/** Milliseconds that an answer may take in addition to the wait. */
const answerMs = 30_000

/** Milliseconds between two reads of a task whose claim {@link Tasks.keep} renews. */
const checkMs = 15_000

/** The parts of a Bridge that names, waits and workers use. */
export interface TasksOfBridge {
  readonly directory: Directory
  readonly keeper: SessionKeeper
  readonly watch: Watch
  readonly messages: TaskMessages
  /** The same calls past the outbox: those that are repeated anyway. */
  readonly direct: TaskCalls
  /** Aborted when the Bridge is closed. */
  readonly closing: AbortSignal
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export class Tasks implements TaskCalls {
  readonly #call: Call
  readonly #bridge: TasksOfBridge | undefined

  constructor(call: Call, bridge?: TasksOfBridge) {
    this.#call = call
    this.#bridge = bridge
  }

  /**
   * Creates a task for a peer, which gets a message of type `task`. `assignee_agent_id` is an id or a name.
   *
   * @throws not_found for an agent that is not a peer, pairing_disabled, project_paused, or capacity_reached.
   *   LocalError `peer_unknown` lists the peers.
   */
  async create(input: TaskInput, options: KeyedOptions = {}): Promise<Task> {
    const { assignee_agent_id: to } = input
    const assignee_agent_id = asId(to) ?? (await this.#ofBridge.directory.peerId(to, options))
    return this.#call(entries.create, { body: { ...input, assignee_agent_id } }, options)
  }

  /**
   * Works on open tasks, one at a time: claims a task, calls `handler`, renews the claim meanwhile, and
   * reports the end.
   *
   * If the handler resolves, its result completes the task. If it throws, the task fails; a `TaskFailedError`
   * with `again` releases it for another attempt. The handler's signal is aborted if the task is cancelled,
   * the claim is lost, or `options.signal` is aborted. After the handler has ended, a cancellation is
   * confirmed, and an interrupted task is open again. Resolves when `options.signal` is aborted, or at
   * `limit` or `idleMs`.
   *
   * @throws refusals that only a person can fix: a revoked credential, a fenced session, a disabled agent, an
   * archived project.
   */
  async work(handler: TaskHandler, options: WorkOptions = {}): Promise<Worked> {
    const { Worker } = await import('./worker.ts')
    const { closing } = this.#ofBridge
    const signal = options.signal === undefined ? closing : AbortSignal.any([closing, options.signal])
    return new Worker({ tasks: this, ...this.#ofBridge }, handler, { ...options, signal }).run()
  }

  /**
   * Waits until a task is completed, failed, declined or cancelled, as its creator or its assignee. Returns
   * the task, with an outcome or a cancellation depending on its `state`. A failed task is a result, not an
   * error.
   *
   * At the end it acknowledges the `task` messages of this task, and no other message. The wait continues
   * over a restart of the node.
   *
   * @throws TaskUnfinished (LocalError `task_unfinished`) at the timeout, LocalError `aborted`
   * @throws BridgeError `not_found`, also if the pair is disabled during the wait. A fenced session, a
   *   revoked credential and an archived project end the wait with their code. Contract §8, §13.
   */
  async wait(id: string, options: TaskWaitOptions = {}): Promise<EndedTask> {
    return waitForTask({ tasks: this, ...this.#ofBridge }, id, options)
  }

  /** Reads one page of the caller's tasks, oldest first. See {@link all}. @throws wait_limit */
  list({ after, limit, state, role, waitSeconds, ...options }: TaskListOptions = {}): Promise<TaskList> {
    const query = given({ after, limit, state, role, wait_seconds: waitSeconds })
    const timeoutMs = options.timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs
    return this.#call(entries.list, { query }, { ...options, timeoutMs })
  }

  /** Yields every task of the caller, page after page. */
  all({
    state,
    role,
    ...options
  }: Pick<TaskListOptions, 'state' | 'role'> & CallOptions = {}): AsyncGenerator<Task, void, undefined> {
    const read = (after: string | undefined) =>
      this.list({ ...options, state, role, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.tasks)
  }

  /** @throws not_found */
  get(id: string, options: CallOptions = {}): Promise<Task> {
    return this.#call(entries.get, { params: { id } }, options)
  }

  /** Reads one page of a task's timeline, oldest entry first. See {@link history}. @throws not_found */
  timeline(id: string, { after, limit, ...options }: PageOptions & CallOptions = {}): Promise<TaskTimeline> {
    return this.#call(entries.timeline, { params: { id }, query: given({ after, limit }) }, options)
  }

  /** Yields every entry of a task's timeline, page after page. @throws not_found */
  history(id: string, options: CallOptions = {}): AsyncGenerator<TaskEntry, void, undefined> {
    const read = (after: string | undefined) =>
      this.timeline(id, { ...options, after, limit: limits.pageMax })
    return everyItem(read, (page) => page.entries)
  }

  /**
   * Claims an open task. The claim expires at `claim.expires_at` unless it is renewed.
   *
   * If this session already holds the claim, it is refused too, so that two workers of one session never do
   * the same task. Use {@link held} to get a claim of this session back.
   *
   * @throws claim_held, with the holder and the end of the claim in its details, and not_permitted for any agent
   *   but the assignee. Also state_conflict, project_paused or pairing_disabled.
   */
  claim(id: string, { claimTtlSeconds, ...options }: ClaimOptions = {}): Promise<Task> {
    const body = given({ claim_ttl_seconds: claimTtlSeconds })
    return this.#call(entries.claim, { params: { id }, body }, options)
  }

  /** Returns the task if this session holds its claim, otherwise undefined. @throws not_found */
  async held(id: string, options: CallOptions = {}): Promise<Task | undefined> {
    const task = await this.get(id, options)
    return task.claim !== null && task.claim.session_id === this.#ofBridge.keeper.sessionId ? task : undefined
  }

  /**
   * Renews the claim. If the returned state is `cancel_requested`, stop the work and call {@link stopped}.
   *
   * @throws claim_lost
   */
  renew(held: HeldTask, options: KeyedOptions = {}): Promise<Task> {
    return this.#call(entries.renew, { params: { id: held.id }, body: holderOf(held) }, options)
  }

  /**
   * Renews the claim immediately, and then after each third of its lifetime, also while a cancellation is
   * requested. Resolves when `signal` is aborted, or when the claim was lost: the node refused a renewal, or the
   * claim expired while the node was unreachable. `onHeld` is called after the first renewal, and `onRefused` with the
   * refusal by which the claim was lost.
   *
   * Between renewals it reads the task every 15 seconds. A claim that is gone, and a refusal that lasts, end it then.
   *
   * @throws claim_lost and every other refusal of the first renewal
   */
  async keep(
    held: HeldTask,
    {
      onHeld,
      onRefused,
      ...options
    }: CallOptions & {
      readonly onHeld?: (task: Task) => void
      readonly onRefused?: (refusal: BridgeError) => void
    } = {},
  ): Promise<void> {
    const { Lease, renewedLeaseMsOf } = await import('./lease.ts')
    const { direct: tasks, keeper, monotonicMs, sleep, closing } = this.#ofBridge
    const askedMs = monotonicMs()
    const task = await this.renew(held, options)
    onHeld?.(task)
    const isHeld = async (read: CallOptions) => {
      const { claim } = await tasks.get(held.id, read)
      const isSame = claim?.generation === task.claim?.generation
      // A replaced session lost the claim, which the node shows until it expires.
      return isSame && claim?.session_id === keeper.sessionId
    }
    const check = { everyMs: checkMs, isHeld }
    const leaseMs = renewedLeaseMsOf(task)
    const lease = new Lease({ tasks, monotonicMs, sleep, stopWithinMs: 0, leaseMs, check }, task, askedMs)
    const end = () => lease.end()
    for (const signal of [closing, options.signal]) {
      if (signal?.aborted) end()
      signal?.addEventListener('abort', end, { once: true, signal: lease.over })
    }
    if (!lease.over.aborted)
      await new Promise((resolve) => lease.over.addEventListener('abort', resolve, { once: true }))
    if (lease.refusal instanceof BridgeError) onRefused?.(lease.refusal)
  }

  /** Reports progress. It does not renew the claim. @throws claim_lost */
  progress(
    held: HeldTask,
    { note, percent }: { readonly note?: string | undefined; readonly percent?: number | undefined },
    options: KeyedOptions = {},
  ): Promise<Task> {
    const body = { ...holderOf(held), ...given({ note, percent }) }
    return this.#call(entries.progress, { params: { id: held.id }, body }, options)
  }

  /** Completes the task with a result and at least one item of evidence. @throws claim_lost, state_conflict */
  complete(
    held: HeldTask,
    { result, evidence }: { readonly result: string; readonly evidence: readonly Evidence[] },
    options: KeyedOptions = {},
  ): Promise<Task> {
    const body = { ...holderOf(held), result, evidence: [...evidence] }
    return this.#call(entries.complete, { params: { id: held.id }, body }, options)
  }

  /** Fails the task permanently. {@link release} allows another attempt. @throws claim_lost, state_conflict */
  fail(
    held: HeldTask,
    { reason, evidence }: { readonly reason: string; readonly evidence?: readonly Evidence[] | undefined },
    options: KeyedOptions = {},
  ): Promise<Task> {
    const body = { ...holderOf(held), reason, ...given({ evidence: evidence && [...evidence] }) }
    return this.#call(entries.fail, { params: { id: held.id }, body }, options)
  }

  /**
   * Gives the claim back. The task is open again, or failed if its attempts are used up.
   *
   * @throws claim_lost, state_conflict
   */
  release(
    held: HeldTask,
    { reason }: { readonly reason: string },
    options: KeyedOptions = {},
  ): Promise<Task> {
    return this.#call(
      entries.release,
      { params: { id: held.id }, body: { ...holderOf(held), reason } },
      options,
    )
  }

  /** Declines an open task, as its assignee. @throws state_conflict, not_permitted */
  decline(
    id: string,
    { reason }: { readonly reason?: string | undefined } = {},
    options: KeyedOptions = {},
  ): Promise<Task> {
    return this.#call(entries.decline, { params: { id }, body: given({ reason }) }, options)
  }

  /**
   * Cancels a task that the caller created. If it is claimed, the holder is asked to stop.
   *
   * @throws state_conflict, not_permitted
   */
  cancel(
    id: string,
    { reason }: { readonly reason?: string | undefined } = {},
    options: KeyedOptions = {},
  ): Promise<Task> {
    return this.#call(entries.cancel, { params: { id }, body: given({ reason }) }, options)
  }

  /** Confirms that the work on a cancelled task has stopped. @throws claim_lost, state_conflict */
  stopped(held: HeldTask, options: KeyedOptions = {}): Promise<Task> {
    return this.#call(entries.stopped, { params: { id: held.id }, body: holderOf(held) }, options)
  }

  get #ofBridge(): TasksOfBridge {
    if (this.#bridge === undefined) throw new TypeError('these tasks belong to no Bridge')
    return this.#bridge
  }
}

/** Returns the two generations of a claim. @throws TypeError for a task without a claim. */
function holderOf({ id, claim }: HeldTask): TaskHolder {
  if (claim === null) throw new TypeError(`task ${id} carries no claim: use what claim() answered`)
  return { claim_generation: claim.generation, session_generation: claim.session_generation }
}
