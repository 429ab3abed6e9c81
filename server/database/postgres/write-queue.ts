/**
 * The writer of a node on PostgreSQL. One group runs at a time; requests that arrive meanwhile form the next.
 *
 * If a group fails as a whole, all of its requests get 503 and the process stays. The next group tries again,
 * so the node writes again as soon as the database does. If a group found no space, the writer also tries
 * whether there is space again, so that the node becomes ready without a request.
 *
 * Contract §2 "Group commit".
 */
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import type { Lanes } from '../lanes.ts'
import type { Outcome } from '../request.ts'
import type { Tx } from '../tx.ts'
import type { GroupReport, WriteOptions, Writer, WriterEvents } from '../writer.ts'
import { GroupFailedError, type GroupOptions, type GroupRun, Groups, type LanedRequest } from './group.ts'

export interface WriterOptions extends GroupOptions, Omit<WriterEvents, 'onFatal'> {
  /** Most requests in one commit, by default 128. */
  readonly maxGroup?: number
  /** Returns whether the node may write. While it may not, requests are refused, also those that wait already. */
  readonly serves: () => boolean
  /** Resolves once the database has space again, or the signal is aborted. */
  readonly untilSpace: (signal: AbortSignal) => Promise<void>
  /** Removes the space of deleted rows from the files of the database. */
  readonly vacuum: () => Promise<boolean>
}

interface Waiting extends LanedRequest {
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

const defaultMaxGroup = 128

export function createWriter(options: WriterOptions): Writer {
  const queue = new WriteQueue(options)
  return {
    write: (lanes, unit, given = {}) => queue.write(lanes, unit, given),
    durable: () => undefined,
    state: () => queue.state,
    stats: () => ({ ...queue.stats }),
    queueLength: () => queue.length,
    scrub: () => options.vacuum(),
    checkpoint: async () => true,
    unusedBytes: () => 0,
    close: () => queue.close(),
  }
}

class WriteQueue {
  readonly stats = { groups: 0, requests: 0, largestGroup: 0, failedGroups: 0 }
  readonly #options: WriterOptions
  readonly #groups: Groups
  readonly #waiting: Waiting[] = []
  #state: 'open' | 'full' = 'open'
  #isClosed = false
  #draining: Promise<void> | undefined
  readonly #closing = new AbortController()
  #fullTimes = 0
  #watching: Promise<void> | undefined

  constructor(options: WriterOptions) {
    this.#options = options
    this.#groups = new Groups(options)
  }

  get state(): ReturnType<Writer['state']> {
    return this.#isClosed ? 'closed' : this.#state
  }

  get length(): number {
    return this.#waiting.length
  }

  write<T>(lanes: Lanes, unit: (tx: Tx) => Promise<T>, { nonce, touches }: WriteOptions): Promise<T> {
    if (this.#isClosed || !this.#options.serves()) return Promise.reject(unavailable(retryAfterMs.restart))
    return new Promise<T>((resolve, reject) => {
      const named = typeof lanes === 'string' ? [lanes] : lanes
      this.#waiting.push({ lanes: named, unit, nonce, touches, resolve, reject })
      this.#draining ??= this.#drain()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#closing.abort()
    await this.#draining
    await this.#watching
  }

  async #drain(): Promise<void> {
    // Requests that arrive in the same turn of the event loop share the first group.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, this.#options.maxGroup ?? defaultMaxGroup)
      // A group takes up to 20 s if the database confirms no commit. Those behind it do not wait as long again.
      if (this.#options.serves()) await this.#run(group)
      else for (const { reject } of group) reject(unavailable(retryAfterMs.restart))
    }
    this.#draining = undefined
  }

  async #run(group: readonly Waiting[]): Promise<void> {
    const { monotonicMs } = this.#options
    const beganMs = monotonicMs()
    try {
      const run = await this.#groups.run(group)
      const commitMs = monotonicMs() - run.commitBeganMs
      this.#state = 'open'
      this.#settle(run, { requests: run.done.length, beganMs, commitMs })
    } catch (error) {
      this.#fail(group, beganMs, error)
    }
  }

  #settle(
    { done, deferred }: GroupRun,
    { requests, beganMs, commitMs }: { requests: number; beganMs: number; commitMs: number },
  ): void {
    this.#waiting.unshift(...(deferred as Waiting[]))
    this.stats.groups += 1
    this.stats.requests += requests
    this.stats.largestGroup = Math.max(this.stats.largestGroup, requests)
    const lanes = done.map(({ request }) => request.lanes)
    const named = lanes.some((each) => each.length === 0) ? [] : lanes.flat()
    this.#runEffects([() => this.#options.onCommit?.(named)])
    for (const { request, outcome } of done) this.#answer(request as Waiting, outcome)
    const groupMs = this.#options.monotonicMs() - beganMs
    this.#options.onGroup?.({ requests, groupMs, commitMs, failure: undefined })
  }

  #answer({ resolve, reject }: Waiting, outcome: Outcome): void {
    if (outcome.ok) this.#runEffects(outcome.effects)
    if (outcome.ok) resolve(outcome.value as never)
    else reject(outcome.error)
  }

  #runEffects(effects: readonly (() => void)[]): void {
    for (const effect of effects) {
      try {
        effect()
      } catch (error) {
        this.#options.onEffectError(error)
      }
    }
  }

  #fail(group: readonly Waiting[], beganMs: number, error: unknown): void {
    this.stats.failedGroups += 1
    const { full, recovered } = error instanceof GroupFailedError ? error : { full: false, recovered: false }
    const afterMs = recovered ? retryAfterMs.recovered : retryAfterMs.restart
    if (full) this.#options.onFull?.()
    if (full) this.#enterFull()
    for (const { reject } of group) reject(full ? storageFull(error) : unavailable(afterMs, error))
    const failure: GroupReport['failure'] = full ? 'full' : 'refused'
    const groupMs = this.#options.monotonicMs() - beganMs
    this.#options.onGroup?.({ requests: group.length, groupMs, commitMs: undefined, failure })
  }

  #enterFull(): void {
    this.#state = 'full'
    this.#fullTimes += 1
    this.#watching ??= this.#leaveFull().finally(() => {
      this.#watching = undefined
    })
  }

  async #leaveFull(): Promise<void> {
    for (let tried = -1; tried !== this.#fullTimes; ) {
      // If another group finds no space meanwhile, the result is outdated.
      tried = this.#fullTimes
      await this.#options.untilSpace(this.#closing.signal)
    }
    if (this.#state === 'full') this.#state = 'open'
  }
}

const unavailable = (afterMs: number, cause?: unknown): ApiError =>
  new ApiError('unavailable', { retryAfterMs: afterMs, ...(cause !== undefined && { cause }) })

const storageFull = (cause: unknown): ApiError =>
  new ApiError('storage_full', { retryAfterMs: retryAfterMs.disk, cause })
