/**
 * A unit of work awaits nothing but its transaction.
 *
 * Queries are synchronous underneath, so a unit that keeps to this runs on microtasks alone. `process.nextTick` fires
 * when the microtask queue has run dry; if the unit has not ended by then, it waits for something else: a timer, a
 * socket, a file, or another unit that cannot start before it ends.
 */

/** The unit awaited something other than its transaction, and was rolled back. */
export class UnitOverrunError extends Error {
  override readonly name = 'UnitOverrunError'
  constructor() {
    super('a unit of work awaited something other than its transaction and was rolled back')
  }
}

/** Settles as the promise does, or with UnitOverrunError. To be called from within a microtask, where `nextTick` comes last. */
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
