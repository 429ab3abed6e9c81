/** A clock that tests move. It starts now, so that it agrees with what other processes think unless it is moved. */
export interface TestClock {
  (): Date
  /** Time passes. */
  advance(seconds: number): void
  /** Somebody sets the clock; no time passes. */
  step(seconds: number): void
  set(to: Date): void
  /** How much time passed, whatever the clock was set to. */
  elapsedMs(): number
}

export function testClock(start: Date = new Date()): TestClock {
  let offset = start.getTime() - Date.now()
  let passed = 0
  const clock = () => new Date(Date.now() + offset)
  return Object.assign(clock, {
    advance(seconds: number) {
      offset += seconds * 1000
      passed += seconds * 1000
    },
    step(seconds: number) {
      offset += seconds * 1000
    },
    set(to: Date) {
      offset = to.getTime() - Date.now()
    },
    elapsedMs: () => performance.now() + passed,
  })
}
