/**
 * Whether somebody may be looking. A page that nobody looks at sends nothing, so its sign-in can end by itself.
 *
 * - Hidden for 15 seconds, the page is unattended until it is visible again.
 * - After an hour without a key or a pointer it is idle until the next one, unless the reader prefers that the
 *   page goes on.
 */
import { computed, signal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { elapsedMs, moment, now } from '../clock.ts'
import { preferences } from '../preferences.ts'
import { until } from './until.ts'

const hiddenMs = 15_000
const idleMs = 3_600_000

const isHidden = signal(false)

const touched = signal(moment())

/** True after an hour in which nobody touched the page. */
export const isIdle = computed(
  () => preferences.value.watching === 'pauses' && elapsedMs(touched.value, now.value) > idleMs,
)

export const isAttended = computed(() => !isHidden.value && !isIdle.value)

/** Returns a value as it was when somebody last looked. Other tabs tell an unattended page what is new. */
export function useAttended<T>(value: T): T {
  const last = useRef(value)
  if (isAttended.value) last.current = value
  return last.current
}

let hiddenTimer: ReturnType<typeof setTimeout> | undefined

function touch(): void {
  touched.value = moment()
}

function look(): void {
  clearTimeout(hiddenTimer)
  if (document.visibilityState === 'visible') {
    // Somebody has turned to this page.
    touch()
    isHidden.value = false
  } else
    hiddenTimer = setTimeout(() => {
      isHidden.value = true
    }, hiddenMs)
}

export function startAttendance(): void {
  for (const event of ['keydown', 'pointerdown', 'pointermove', 'wheel'] as const)
    addEventListener(event, touch, { passive: true })
  document.addEventListener('visibilitychange', look)
  look()
}

/** Runs `act` while the page is attended, again and again until the signal aborts or `act` throws. */
export async function whileAttended(signal: AbortSignal, act: (signal: AbortSignal) => Promise<unknown>) {
  while (!signal.aborted) {
    await until(isAttended, (is) => is, signal)
    const left = new AbortController()
    const stop = isAttended.subscribe((is) => {
      if (!is) left.abort()
    })
    try {
      await act(AbortSignal.any([signal, left.signal]))
    } catch (error) {
      if (signal.aborted) return
      if (!left.signal.aborted) throw error
    } finally {
      stop()
      // A signal with a listener lives as long as those that it depends on.
      left.abort()
    }
  }
}
