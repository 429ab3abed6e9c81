/**
 * Elapsed milliseconds including the time the machine slept, which monotonic time excludes on Linux and
 * macOS.
 *
 * The machine's uptime includes sleep, but it has a resolution of one second and costs a system call. It is
 * therefore read only if the wall clock and monotonic time have drifted apart by a second or more, which
 * happens after a sleep or when somebody sets the clock.
 */
export interface MachineClocks {
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly uptimeMs: () => number
}

const apartMs = 1000
/** A shorter difference is within the resolution of the uptime. */
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
