/**
 * The node's present time. The clock of this browser may be hours wrong, and every time that the node tells is
 * by its own clock.
 */
import { computed, signal } from '@preact/signals'
import { moment, now } from './clock.ts'

/** Milliseconds that the clock of the node is ahead of the clock of this browser. */
const aheadMs = signal(0)

export const nodeNow = computed(() => now.value.wallMs + aheadMs.value)

/** Takes a time that the node told as its present one, up to `lateMs` ago. */
export function hearClock(iso: string, lateMs = 1000): void {
  const ahead = Date.parse(iso) - moment().wallMs
  if (Math.abs(ahead - aheadMs.peek()) > lateMs) aheadMs.value = ahead
}
