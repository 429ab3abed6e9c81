/**
 * A clock that tests move. It starts at the current time, so it agrees with other processes until a test
 * moves it.
 */
export interface TestClock {
  (): Date
  /** Lets time pass. */
  advance(seconds: number): void
  /** Sets the clock forward or back, as an administrator would; no time passes. */
  step(seconds: number): void
  set(to: Date): void
  /** The time that passed, regardless of how the clock was set. */
  elapsedMs(): number
  /** Stops the clock until the returned function is called, so that a busy machine does not matter. */
  hold(): () => void
}

export function testClock(start: Date = new Date()): TestClock {
  let offset = start.getTime() - Date.now()
  let passed = 0
  let held: { readonly wallMs: number; readonly elapsedMs: number } | undefined
  const wallMs = () => held?.wallMs ?? Date.now()
  const clock = () => new Date(wallMs() + offset)
  return Object.assign(clock, {
    advance(seconds: number) {
      offset += seconds * 1000
      passed += seconds * 1000
    },
    step(seconds: number) {
      offset += seconds * 1000
    },
    set(to: Date) {
      offset = to.getTime() - wallMs()
    },
    elapsedMs: () => (held?.elapsedMs ?? performance.now()) + passed,
    hold() {
      // Whole milliseconds, because a sum of fractions can be smaller than the seconds that passed.
      const from = { wallMs: Date.now(), elapsedMs: Math.ceil(performance.now()) }
      held = from
      return () => {
        held = undefined
        offset -= Date.now() - from.wallMs
        passed -= performance.now() - from.elapsedMs
      }
    },
  })
}
