/**
 * Worker, the loop of `bridge.tasks.work(handler)`: it claims one open task at a time, renews the claim while
 * the handler runs, and reports the end.
 *
 * - It waits with a long-poll for the first open task, so that work starts immediately. It takes no messages
 *   from a listener.
 * - If a handler throws, its task is never completed. If a handler is stopped, the worker waits until it has
 *   ended. Then it confirms a cancellation, releases the claim after an interruption, and reports nothing
 *   after a lost claim.
 * - The report of the end goes through the outbox. It is retried with one Idempotency-Key until the node has
 *   answered.
 *
 * Contract §8, §12 `task run`, §13.
 */
import type { Task } from '../contract/agent/tasks.ts'
import { limits } from '../contract/limits.ts'
import { withinBytes } from '../plain-text.ts'
import { BridgeError, isOutcomeUnknown, type RefusalCode } from '../transport/failures.ts'
import { freshKey } from '../transport/http.ts'
import { backoff, pauses } from '../transport/retry.ts'
import { isTemporary } from '../transport/temporary.ts'
import type { TaskMessages } from '../waiting/task-messages.ts'
import type { TaskCalls } from './calls.ts'
import { Lease, leaseMsOf } from './lease.ts'
import {
  TaskFailedError,
  type TaskHandler,
  type WorkEvent,
  type Worked,
  type WorkOptions,
  WorkStoppedError,
} from './work.ts'

export interface WorkParts {
  /** Calls that go through the outbox. */
  readonly tasks: TaskCalls
  /** Calls without the outbox, for requests that the worker repeats itself. */
  readonly direct: TaskCalls
  readonly messages: TaskMessages
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

const longestWithoutSlotMs = 2000
/** Refusals of a claim after which the worker tries the next task. */
const passedOver: ReadonlySet<RefusalCode> = new Set([
  'claim_held',
  'state_conflict',
  'not_found',
  'not_permitted',
  'pairing_disabled',
  'project_paused',
  // A claim that was renewed before its work.
  'claim_lost',
])

export class Worker {
  readonly #parts: WorkParts
  readonly #handler: TaskHandler
  readonly #options: WorkOptions
  #claimed = 0
  #away = 0
  #crowded = 0
  #isHeard = false
  #idleSinceMs: number
  /** A claim without an answer. The node may have stored it, so it is asked again before anything else. */
  #unanswered: AskedClaim | undefined

  constructor(parts: WorkParts, handler: TaskHandler, options: WorkOptions) {
    this.#parts = parts
    this.#handler = handler
    this.#options = options
    this.#idleSinceMs = parts.monotonicMs()
  }

  async run(): Promise<Worked> {
    const { limit = Number.POSITIVE_INFINITY } = this.#options
    let fruitless = 0
    while (this.#claimed < limit && !this.#isInterrupted && !this.#isIdleOver) {
      const open = this.#unanswered === undefined ? await this.#findOpen() : []
      const claim = await (this.#unanswered === undefined
        ? this.#claimFirst(open)
        : this.#claim(this.#unanswered))
      if (claim !== undefined) {
        fruitless = 0
        this.#claimed += 1
        await this.#perform(claim)
        this.#idleSinceMs = this.#parts.monotonicMs()
      } else if (open.length > 0) {
        fruitless += 1
        await this.#pause(backoff(fruitless, pauses.work))
      }
    }
    return { claimed: this.#claimed }
  }

  get #isInterrupted(): boolean {
    return this.#options.signal?.aborted === true
  }

  get #idleLeftMs(): number {
    const { idleMs = Number.POSITIVE_INFINITY } = this.#options
    return idleMs - (this.#parts.monotonicMs() - this.#idleSinceMs)
  }

  /** A claim that may stand is not given up because the worker was idle before. */
  get #isIdleOver(): boolean {
    return this.#idleLeftMs <= 0 && (this.#unanswered === undefined || this.#isExpired(this.#unanswered))
  }

  #isExpired({ task, askedMs }: AskedClaim): boolean {
    return this.#parts.monotonicMs() - askedMs >= leaseMsOf(task)
  }

  #tell(event: WorkEvent): void {
    this.#options.onEvent?.(event)
  }

  /**
   * Waits for open tasks. Returns none at the end of the wait or after an abort.
   *
   * @throws a failure that a retry cannot help
   */
  async #findOpen(): Promise<readonly Task[]> {
    const { signal } = this.#options
    // The first list does not wait: a node that dies during a wait must have answered before.
    const longest = this.#isHeard ? limits.inboxWaitSeconds : 0
    const wait = Math.min(longest, Math.ceil(this.#idleLeftMs / 1000))
    const query = { state: 'open', role: 'assignee', limit: limits.pageDefault, signal } as const
    try {
      const { tasks } = await this.#parts.direct.list({ ...query, waitSeconds: wait })
      this.#heard()
      return tasks
    } catch (error) {
      if (this.#isInterrupted) return []
      if (!(error instanceof BridgeError) || error.code !== 'wait_limit') return this.#whileAway(error)
      // All long-polls of this session are in use, or an aborted one has not ended yet at the node. List without waiting.
      this.#crowded += 1
      await this.#pause(Math.min(longestWithoutSlotMs, backoff(this.#crowded, pauses.work)))
      const found = await this.#parts.direct.list(query).catch((failure: unknown) => this.#whileAway(failure))
      return 'tasks' in found ? found.tasks : found
    }
  }

  #heard(): void {
    this.#isHeard = true
    this.#crowded = 0
    if (this.#away > 0) this.#tell({ type: 'away', error: null })
    this.#away = 0
  }

  async #whileAway(error: unknown): Promise<readonly Task[]> {
    if (this.#isInterrupted) return []
    // If the node never answered, its address may be wrong, so the worker throws.
    if (!isTemporary(error, 'claim') || !this.#isHeard) throw error
    this.#away += 1
    if (this.#away === 2) this.#tell({ type: 'away', error })
    const named = error instanceof BridgeError ? error.retryAfterMs : undefined
    await this.#pause(named ?? backoff(this.#away, pauses.work))
    return []
  }

  async #claimFirst(open: readonly Task[]): Promise<Claimed | undefined> {
    const { random, monotonicMs } = this.#parts
    for (const task of open) {
      if (this.#isInterrupted || this.#unanswered !== undefined) return undefined
      const claimed = await this.#claim({ task, key: freshKey(random), askedMs: monotonicMs() })
      if (claimed !== undefined) return claimed
    }
    return undefined
  }

  /** Claims a task. If the answer is lost, it is asked again with the same key, which returns the same claim. */
  async #claim(asked: AskedClaim): Promise<Claimed | undefined> {
    try {
      const { id } = asked.task
      const claimTtlSeconds = limits.workerClaimTtlSeconds
      const task = await this.#parts.direct.claim(id, { idempotencyKey: asked.key, claimTtlSeconds })
      const claimed = await this.#inTime({ task, askedMs: asked.askedMs })
      this.#answered()
      return claimed
    } catch (error) {
      if (error instanceof BridgeError && passedOver.has(error.code)) this.#answered()
      else {
        if (isOutcomeUnknown(error)) this.#unanswered = asked
        // A node that fails at one task must not keep the worker from the others.
        if (error instanceof BridgeError && this.#isExpired(asked)) this.#unanswered = undefined
        await this.#whileAway(error)
      }
      return undefined
    }
  }

  /** Renews a claim whose answer came late: it may have expired, and another worker may have it. */
  async #inTime(claimed: Claimed): Promise<Claimed> {
    const { direct, monotonicMs } = this.#parts
    const askedMs = monotonicMs()
    const leaseMs = leaseMsOf(claimed.task)
    if (askedMs - claimed.askedMs < leaseMs / 3) return claimed
    // One short attempt, so that its own answer is not late. The claim is asked again otherwise.
    return { task: await direct.renew(claimed.task, { attempts: 1, timeoutMs: leaseMs / 6 }), askedMs }
  }

  #answered(): void {
    if (this.#unanswered !== undefined) this.#heard()
    this.#unanswered = undefined
  }

  async #perform({ task, askedMs }: Claimed): Promise<void> {
    this.#tell({ type: 'claimed', task })
    const { direct: tasks, monotonicMs, sleep } = this.#parts
    const { signal, stopWithinMs = 0 } = this.#options
    const lease = new Lease({ tasks, monotonicMs, sleep, stopWithinMs }, task, askedMs)
    void lease.watch()
    const interrupt = () => lease.stop('interrupted')
    if (signal?.aborted) interrupt()
    signal?.addEventListener('abort', interrupt, { once: true })
    const tellStop = () => {
      if (lease.why !== undefined) this.#tell({ type: 'stopping', task, why: lease.why })
    }
    lease.signal.addEventListener('abort', tellStop, { once: true })
    try {
      const end = await this.#handled(task, lease)
      await this.#report(task, end)
    } finally {
      lease.end()
      signal?.removeEventListener('abort', interrupt)
    }
    await this.#parts.messages.acknowledge(task.id).catch(() => {
      // Unacknowledged messages of the task stay in the inbox for a listener.
    })
  }

  /** Runs the handler and returns the call that reports its end, or undefined after a lost claim. */
  async #handled(task: Task, lease: Lease): Promise<Report | undefined> {
    const { direct, tasks } = this.#parts
    const progress = async (report: { note?: string | undefined; percent?: number | undefined }) => {
      await direct.progress(task, report, { signal: lease.signal }).catch((error: unknown) => {
        if (error instanceof BridgeError && error.code === 'claim_lost') lease.stop('claim_lost')
      })
    }
    try {
      const { result, evidence } = await this.#handler({
        task,
        leaseMs: leaseMsOf(task),
        signal: lease.signal,
        progress,
      })
      if (lease.why === 'claim_lost') return undefined
      return (idempotencyKey) => tasks.complete(task, { result, evidence }, { idempotencyKey })
    } catch (error) {
      return this.#failed(task, lease, error)
    }
  }

  #failed(task: Task, lease: Lease, error: unknown): Report | undefined {
    const { tasks } = this.#parts
    if (lease.why === 'claim_lost') return undefined
    if (lease.why === 'cancelled') return (idempotencyKey) => tasks.stopped(task, { idempotencyKey })
    const reason = reasonOf(error)
    const isAgain = lease.why === 'interrupted' || (error instanceof TaskFailedError && error.again)
    if (isAgain) return (idempotencyKey) => tasks.release(task, { reason }, { idempotencyKey })
    const evidence = error instanceof TaskFailedError ? error.evidence : []
    return (idempotencyKey) => tasks.fail(task, { reason, evidence }, { idempotencyKey })
  }

  /** Reports the end. If the node refuses what the report says, the task fails, and the worker goes on. */
  async #report(task: Task, report: Report | undefined): Promise<void> {
    if (report === undefined) return this.#tell({ type: 'lost', task })
    try {
      await this.#send(task, report)
    } catch (error) {
      if (!isRefusedContent(error)) throw error
      const reason = reasonOf(`the node refused the report of the work: ${error.message}`)
      await this.#send(task, (idempotencyKey) => this.#parts.tasks.fail(task, { reason }, { idempotencyKey }))
    }
  }

  /** Sends a report, and retries until the node has answered or the claim must have expired. */
  async #send(task: Task, report: Report): Promise<void> {
    const { random, monotonicMs, sleep } = this.#parts
    const key = freshKey(random)
    const untilMs = monotonicMs() + leaseMsOf(task)
    for (let attempt = 1; ; attempt += 1) {
      try {
        return this.#tell({ type: 'ended', task: await report(key) })
      } catch (error) {
        if (error instanceof BridgeError && lostCodes.has(error.code))
          return this.#tell({ type: 'lost', task })
        if (!isOutcomeUnknown(error) || monotonicMs() >= untilMs) throw error
        await sleep(backoff(attempt, pauses.work), undefined)
      }
    }
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#options
    const longestMs = this.#unanswered === undefined ? this.#idleLeftMs : Number.POSITIVE_INFINITY
    const bounded = Math.max(0, Math.min(ms, longestMs))
    await this.#parts.sleep(bounded, signal).catch(() => {
      // Aborted: the loop checks this itself.
    })
  }
}

interface AskedClaim {
  readonly task: Task
  readonly key: string
  readonly askedMs: number
}

interface Claimed {
  readonly task: Task
  /** Time at which the claim was requested, before its first attempt. */
  readonly askedMs: number
}

type Report = (idempotencyKey: string) => Promise<Task>

/** Refusals of a report: another worker has the claim, or the task has already ended. */
const lostCodes: ReadonlySet<RefusalCode> = new Set(['claim_lost', 'state_conflict', 'not_found'])

/** Whether the node refused the content of a report, which is the same in every repetition. */
const isRefusedContent = (error: unknown): error is BridgeError =>
  error instanceof BridgeError && (error.status === 422 || error.status === 413)

/** Returns the reason for the node, cut to the limit of a reason. */
function reasonOf(error: unknown): string {
  if (error instanceof WorkStoppedError) return error.message
  const text = error instanceof Error ? error.message : String(error)
  return withinBytes(text === '' ? 'the handler failed without a message' : text, limits.taskReasonBytes)
}
