/**
 * `none`: the waiter's statement that the inbox has no unacknowledged message. A hook that finds it makes no
 * request, which is most of the time of a hook.
 *
 * - The waiter makes the statement after a look that found nothing while its stream was open. It withdraws it
 *   at the first sign of a message, when the stream breaks, and when the waiter ends.
 * - The waiter repeats the statement every 2 seconds. One that is older than 15 seconds counts for nothing,
 *   so a waiter that was killed or that sleeps cannot hide a message.
 */
import { removeFile, touch, touchedAt } from './files.ts'
import type { Places } from './places.ts'

const validMs = 15_000

/** Whether a running waiter knows that there is no unacknowledged message. */
export function saysNoMail({ none }: Places, now: Date): boolean {
  const at = touchedAt(none)
  return at !== undefined && now.getTime() >= at && now.getTime() - at < validMs
}

/** The waiter's side. A full or read-only disk only lets the statement grow old. */
export class NoMail {
  readonly #path: string
  readonly #clock: () => Date
  #isConnected = false
  #isStated = false

  constructor({ none }: Places, clock: () => Date) {
    this.#path = none
    this.#clock = clock
  }

  connected(isConnected: boolean): void {
    this.#isConnected = isConnected
    this.withdraw()
  }

  state(): void {
    this.#isStated = this.#isConnected
    this.repeat()
  }

  repeat(): void {
    if (this.#isStated) attempt(() => touch(this.#path, this.#clock()))
  }

  withdraw(): void {
    this.#isStated = false
    attempt(() => removeFile(this.#path))
  }
}

function attempt(act: () => void): void {
  try {
    act()
  } catch {
    // The statement grows old.
  }
}
