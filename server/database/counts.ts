/**
 * Counters in rows that units of one transaction change side by side.
 *
 * A unit reads the stored value. If a unit beside it has changed the counter since, the value that this unit
 * left applies instead. A unit stores each value that it sets here.
 */
export class Counts {
  readonly #latest = new Map<string, number>()

  /** Returns the value that a unit beside this one left, or else the stored value. */
  latest(id: string, stored: number): number {
    return this.#latest.get(id) ?? stored
  }

  set(id: string, value: number): void {
    this.#latest.set(id, value)
  }
}
