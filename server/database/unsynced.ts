/**
 * Groups that are committed and not yet known to be on disk: told in the order of their commits.
 *
 * - One sync is under way at a time; what is committed meanwhile shares the next.
 * - A group that is alone is not handed over: on a quiet server with a quick disk that costs more than the sync.
 * - A sync that fails tells nothing of any of them, nor of what comes after: it is the end.
 */
import type { WalSync } from './wal-sync.ts'

export interface UnsyncedOptions<G> {
  readonly walSync: WalSync
  /** For durations: never steps. */
  readonly monotonicMs: () => number
  /** It is on disk. */
  readonly tell: (group: G) => void
  /** What the disk holds of these is unknown. */
  readonly fail: (groups: readonly G[], error: unknown) => void
}

/** A disk that is slower is not waited for. */
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
  /** Never to be on disk as far as anybody knows. */
  #lost: Promise<void> | undefined

  constructor(options: UnsyncedOptions<G>) {
    this.#options = options
  }

  get isIdle(): boolean {
    return this.#syncing === undefined && this.#next === undefined
  }

  /** A group whose commit stands in the log. */
  add(group: G, isAlone: boolean): void {
    this.#next ??= { groups: [], durable: durablePromise() }
    this.#next.groups.push(group)
    if (this.#syncing !== undefined) return
    if (isAlone && this.#lastMs < quickMs) this.#syncNow()
    else void this.#sync()
  }

  /** What is committed by now is on disk when it resolves; undefined where it is already. @throws when the disk fails. */
  durable(): Promise<void> | undefined {
    return (this.#next ?? this.#syncing)?.durable.promise ?? this.#lost
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
    for (const group of batch?.groups ?? []) this.#options.tell(group)
  }

  #fail(error: unknown): void {
    const batches = [this.#syncing, this.#next].filter((batch) => batch !== undefined)
    this.#syncing = undefined
    this.#next = undefined
    this.#lost = Promise.reject(error)
    this.#lost.catch(() => {})
    for (const { durable } of batches) durable.reject(error)
    this.#options.fail(
      batches.flatMap(({ groups }) => groups),
      error,
    )
  }
}

/** Nobody has to wait for it. */
function durablePromise(): PromiseWithResolvers<void> {
  const durable = Promise.withResolvers<void>()
  durable.promise.catch(() => {})
  return durable
}
