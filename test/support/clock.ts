/** A clock that tests move. It starts now, so that it agrees with what other processes think unless it is moved. */
export interface TestClock {
  (): Date
  advance(seconds: number): void
  set(to: Date): void
}

export function testClock(start: Date = new Date()): TestClock {
  let offset = start.getTime() - Date.now()
  const clock = () => new Date(Date.now() + offset)
  return Object.assign(clock, {
    advance(seconds: number) {
      offset += seconds * 1000
    },
    set(to: Date) {
      offset = to.getTime() - Date.now()
    },
  })
}
