/**
 * Enforces that a unit of work awaits only queries of its transaction.
 *
 * Queries are synchronous underneath, so such a unit runs on microtasks alone. `process.nextTick` fires once
 * the microtask queue is empty. If the unit has not settled by then, it awaits something else, such as a
 * timer, a socket, a file, or another unit that cannot start before this one ends.
 */

/** The unit awaited something other than its transaction, and was rolled back. */
export class UnitOverrunError extends Error {
  override readonly name = 'UnitOverrunError'
  constructor() {
    super('a unit of work awaited something other than its transaction and was rolled back')
  }
}

/**
 * Settles as the promise does, or rejects with UnitOverrunError. Must be called from a microtask, because
 * only then `nextTick` runs after all other microtasks.
 */
export function withinTurn<T>(promise: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let pending = true
    promise.then(
      (value) => {
        pending = false
        resolve(value)
      },
      (error: unknown) => {
        pending = false
        reject(error)
      },
    )
    process.nextTick(() => {
      if (pending) reject(new UnitOverrunError())
    })
  })
}
