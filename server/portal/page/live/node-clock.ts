/**
 * The node's present time. The clock of this browser may be hours wrong, and every time that the node tells is
 * by its own clock.
 */
import { computed, signal } from '@preact/signals'
import { now } from '../clock.ts'

/** Milliseconds that the clock of the node is ahead of the clock of this browser. */
const aheadMs = signal(0)

export const nodeNow = computed(() => now.value.wallMs + aheadMs.value)

let hasSnapshot = false

/** Takes the time of an answer, from its header `Date`. A snapshot tells the time more exactly. */
export function hearClock(date: string | null): void {
  if (!hasSnapshot) take(date ?? '')
}

/** Takes the time at which the node made a snapshot. */
export function hearSnapshot(observedAt: string): void {
  hasSnapshot = true
  take(observedAt)
}

function take(time: string): void {
  const nodeMs = Date.parse(time)
  // The header has whole seconds, so a smaller difference says nothing.
  if (Math.abs(nodeMs - Date.now() - aheadMs.peek()) > 1500) aheadMs.value = nodeMs - Date.now()
}
