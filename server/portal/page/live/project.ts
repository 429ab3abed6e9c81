/**
 * Live data of a project: one visible tab of this browser reads it for all tabs.
 *
 * A browser opens six connections to the node. If each tab waited for events, the seventh could load nothing.
 * So the tab that holds the lock reads, and the others receive its answers through a channel.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { isOutcomeUnknown, limits, type ProjectSnapshot } from '../../../../sdk/browser.ts'
import { elapsedMs, type Moment, moment, now } from '../clock.ts'
import { owner } from '../owner.ts'

interface Reading {
  readonly snapshot: ProjectSnapshot
  readonly at: Moment
}

export interface LiveProject {
  readonly snapshot: ReadonlySignal<ProjectSnapshot | undefined>
  /** Milliseconds since the last answer of the node. */
  readonly ageMs: ReadonlySignal<number>
  /** True if connection words must read Unavailable. */
  readonly isStale: ReadonlySignal<boolean>
  /** Wall time of this browser at the last answer. */
  readonly heardAt: ReadonlySignal<number | undefined>
  /** The node's present time, by its last answer and the time since. */
  readonly nodeNow: ReadonlySignal<number>
  readonly error: ReadonlySignal<unknown>
  /** Reads at once, after an action of this tab. */
  refresh(): Promise<void>
  stop(): void
}

/** A watch answers at least every 5 seconds, so a longer silence is worth a word. */
export const silentMs = 8000
const hiddenMs = 15_000
const pauseMs = 300

export function liveProject(id: string): LiveProject {
  const reading = signal<Reading | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const stopping = new AbortController()
  const channel = new BroadcastChannel(`bridge-live-${id}`)
  const take = (snapshot: ProjectSnapshot) => {
    const last = reading.value?.snapshot.observed_at ?? ''
    if (snapshot.observed_at < last) return
    reading.value = { snapshot, at: moment() }
    error.value = undefined
    now.value = moment()
  }
  channel.onmessage = ({ data }: MessageEvent<ProjectSnapshot>) => take(data)
  const refresh = async () => {
    try {
      take(await owner.projects.snapshot(id, { signal: stopping.signal }))
    } catch (failure) {
      if (!stopping.signal.aborted) error.value = failure
    }
  }
  const follow = async (signal: AbortSignal) => {
    for await (const snapshot of owner.projects.watch(id, { signal })) {
      take(snapshot)
      channel.postMessage(snapshot)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
  void whileVisible(stopping.signal, (signal) =>
    navigator.locks.request(`bridge-live-${id}`, { signal }, () => follow(signal)),
  ).catch((failure: unknown) => {
    if (!stopping.signal.aborted) error.value = failure
  })
  void refresh()
  const ageMs = computed(() => (reading.value === undefined ? 0 : elapsedMs(reading.value.at, now.value)))
  return {
    snapshot: computed(() => reading.value?.snapshot),
    ageMs,
    isStale: computed(() => ageMs.value > limits.snapshotStaleSeconds * 1000),
    heardAt: computed(() => reading.value?.at.wallMs),
    nodeNow: computed(() => Date.parse(reading.value?.snapshot.observed_at ?? '') + ageMs.value),
    error,
    refresh,
    stop: () => {
      stopping.abort()
      channel.close()
    },
  }
}

/** Runs `act` while the page is visible, and ends it 15 seconds after the page was hidden. */
async function whileVisible(signal: AbortSignal, act: (signal: AbortSignal) => Promise<unknown>) {
  while (!signal.aborted) {
    await visible(signal)
    const hidden = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const watch = () => {
      clearTimeout(timer)
      if (document.visibilityState === 'hidden') timer = setTimeout(() => hidden.abort(), hiddenMs)
    }
    document.addEventListener('visibilitychange', watch)
    try {
      await act(AbortSignal.any([signal, hidden.signal]))
    } catch (error) {
      if (signal.aborted) return
      if (!hidden.signal.aborted && !isOutcomeUnknown(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, 1000))
    } finally {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', watch)
    }
  }
}

const visible = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const check = () => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return
      document.removeEventListener('visibilitychange', check)
      resolve()
    }
    signal.addEventListener('abort', check, { once: true })
    document.addEventListener('visibilitychange', check)
    check()
  })
