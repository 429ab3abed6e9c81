/**
 * Milliseconds that passed, the sleep of the machine included: monotonic time leaves it out on Linux and macOS.
 *
 * The uptime of the machine counts it, but it is as coarse as a second and costs a system call. So it is read only when
 * the wall clock has moved by a second more or less than monotonic time: after a sleep, or when somebody set the clock.
 */
export interface MachineClocks {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly uptimeMs: () => number
}

const apartMs = 1000
/** Less is the coarseness of the uptime. */
const leastSleepMs = 2000

export function createElapsed({ clock, monotonicMs, uptimeMs }: MachineClocks): () => number {
  const aheadMs = (now: number) => clock().getTime() - now
  const uptimeAtZero = uptimeMs() - monotonicMs()
  let seenAhead = aheadMs(monotonicMs())
  let sleptMs = 0
  return () => {
    const now = monotonicMs()
    const ahead = aheadMs(now)
    if (Math.abs(ahead - seenAhead) >= apartMs) {
      seenAhead = ahead
      const slept = uptimeMs() - now - uptimeAtZero
      if (slept - sleptMs >= leastSleepMs) sleptMs = slept
    }
    return now + sleptMs
  }
}
