/**
 * Groups that are committed and not yet durable. They are reported in the order of their commits.
 *
 * - One sync runs at a time. Groups that are committed meanwhile share the next sync.
 * - If a group is alone and the last sync took less than 2 ms, this thread makes the sync. On a quiet server
 *   with a fast disk, another thread would take longer than the sync.
 * - If a sync fails, all pending groups fail, and the writer stops.
 */
import type { WalSync } from './wal-sync.ts'

export interface UnsyncedOptions<G> {
  readonly walSync: WalSync
  /** Milliseconds of a clock that is never set, for durations. */
  readonly monotonicMs: () => number
  /** Called once a group is durable. */
  readonly onDurable: (group: G) => void
  /** Called if a sync fails. It is unknown whether the disk holds these groups. */
  readonly onFailed: (groups: readonly G[], error: unknown) => void
}

/** If the last sync took longer, the next one runs on another thread. */
const quickMs = 2

interface Batch<G> {
  readonly groups: G[]
  readonly durable: PromiseWithResolvers<void>
}

export class UnsyncedGroups<G> {
  readonly #options: UnsyncedOptions<G>
  #syncing: Batch<G> | undefined
  #next: Batch<G> | undefined
  #lastMs = 0
  /** Rejected promise after a failed sync. */
  #failed: Promise<void> | undefined

  constructor(options: UnsyncedOptions<G>) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#syncing === undefined && this.#next === undefined
  }

  /** Adds a group whose commit is in the WAL. */
  add(group: G, isAlone: boolean): void {
    this.#next ??= { groups: [], durable: durablePromise() }
    this.#next.groups.push(group)
    if (this.#syncing !== undefined) return
    if (isAlone && this.#lastMs < quickMs) this.#syncNow()
    else void this.#sync()
  }

  /**
   * Resolves once all commits so far are durable. Undefined if they are already. @throws the error of a
   * failed sync
   */
  durable(): Promise<void> | undefined {
    return (this.#next ?? this.#syncing)?.durable.promise ?? this.#failed
  }

  #syncNow(): void {
    const beganMs = this.#begin()
    try {
      this.#options.walSync.syncNow()
      this.#end(beganMs)
    } catch (error) {
      this.#fail(error)
    }
  }

  async #sync(): Promise<void> {
    while (this.#next !== undefined) {
      const beganMs = this.#begin()
      try {
        await this.#options.walSync.sync()
        this.#end(beganMs)
      } catch (error) {
        this.#fail(error)
      }
    }
  }

  #begin(): number {
    this.#syncing = this.#next
    this.#next = undefined
    return this.#options.monotonicMs()
  }

  #end(beganMs: number): void {
    const batch = this.#syncing
    this.#syncing = undefined
    this.#lastMs = this.#options.monotonicMs() - beganMs
    batch?.durable.resolve()
    for (const group of batch?.groups ?? []) this.#options.onDurable(group)
  }

  #fail(error: unknown): void {
    const batches = [this.#syncing, this.#next].filter((batch) => batch !== undefined)
    this.#syncing = undefined
    this.#next = undefined
    this.#failed = Promise.reject(error)
    this.#failed.catch(() => {})
    for (const { durable } of batches) durable.reject(error)
    this.#options.onFailed(
      batches.flatMap(({ groups }) => groups),
      error,
    )
  }
}

/** Promise whose rejection needs no handler. */
function durablePromise(): PromiseWithResolvers<void> {
  const durable = Promise.withResolvers<void>()
  durable.promise.catch(() => {})
  return durable
}
