/**
 * One outage of something that is tried again and again. The log names each cause of it once, however often
 * the node tries.
 */
export class Outage {
  readonly #causes = new Set<string>()

  /** Returns whether this outage has not had the cause before, and notes it. */
  isNew(cause: unknown): boolean {
    const text = String(cause)
    if (this.#causes.has(text)) return false
    this.#causes.add(text)
    return true
  }

  /** The next failure begins another outage. */
  end(): void {
    this.#causes.clear()
  }
}
