/** A server in this process whose time passes only when a test lets it pass. */
import { vi } from 'vitest'
import { startBridge, type TestBridge } from '../../support/bridge.ts'
import { type TestClock, testClock } from '../../support/clock.ts'

export interface HeldTime {
  readonly clock: TestClock
  start(): Promise<TestBridge>
  stop(bridge: TestBridge): Promise<void>
  /** Lets seconds pass, one at a time, as the shared timer of the streams counts them. */
  pass(seconds: number): void
}

export function heldTime(): HeldTime {
  const clock = testClock()
  let release: () => void
  return {
    clock,
    start() {
      release = clock.hold()
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      return startBridge({ clock, monotonicMs: clock.elapsedMs })
    },
    async stop(bridge) {
      await bridge.close()
      vi.useRealTimers()
      release()
    },
    pass(seconds) {
      for (let passed = 0; passed < seconds; passed += 1) {
        clock.advance(1)
        vi.advanceTimersByTime(1000)
      }
    },
  }
}
