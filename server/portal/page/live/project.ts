/**
 * Live data of a project: one visible tab of this browser reads it for all tabs.
 *
 * A browser opens six connections to the node. If each tab waited for events, the seventh could load nothing.
 * So the tab that holds the lock reads, and the others receive its answers through a channel. `waits.ts` limits the
 * waits of different projects.
 */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { BridgeError, isOutcomeUnknown, limits, type ProjectSnapshot } from '../../../../sdk/browser.ts'
import { elapsedMs, type Moment, moment, now } from '../clock.ts'
import { hearClock, nodeNow } from '../node-clock.ts'
import { isExpiry, owner, renewals } from '../owner.ts'
import { whileAttended } from './attendance.ts'
import { pause } from './pause.ts'
import { until } from './until.ts'
import { withWait } from './waits.ts'

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
  /**
   * The node's present time, by its last answer and the time since. Before the first answer it is that of
   * `node-clock.ts`.
   */
  readonly nodeNow: ReadonlySignal<number>
  readonly error: ReadonlySignal<unknown>
  /** Reads at once, after an action of this tab. */
  refresh(): Promise<void>
  stop(): void
}

/** A watch answers at least every 5 seconds, so a longer silence is worth a word. */
export const silentMs = 8000
const pauseMs = 300
const retryMs = 1000
const refusedMs = 10_000
/** An answer that crosses a newer one is older by less than this. One that is older still has another clock. */
const crossingMs = 30_000
/** A project beyond those that the browser waits for is read this often. */
const withoutWaitMs = 5000

const open = new Map<string, { readonly live: LiveProject; users: number }>()

/** Returns the live data of a project. All parts of a tab share one reading, which ends with its last user. */
export function liveProject(id: string): LiveProject {
  const shared = open.get(id) ?? { live: begin(id), users: 0 }
  open.set(id, shared)
  shared.users += 1
  const stop = () => {
    shared.users -= 1
    if (shared.users > 0) return
    open.delete(id)
    shared.live.stop()
  }
  return { ...shared.live, stop }
}

/** The live data of a project while a screen shows it. */
export function useLiveProject(id: string): LiveProject {
  const live = useMemo(() => liveProject(id), [id])
  useEffect(() => live.stop, [live])
  return live
}

function begin(id: string): LiveProject {
  const reading = signal<Reading | undefined>(undefined)
  const error = signal<unknown>(undefined)
  const stopping = new AbortController()
  const channel = new BroadcastChannel(`bridge-live-${id}`)
  const take = (snapshot: ProjectSnapshot) => {
    const last = reading.value?.snapshot.observed_at ?? snapshot.observed_at
    const behindMs = Date.parse(last) - Date.parse(snapshot.observed_at)
    if (behindMs > 0 && behindMs < crossingMs) return
    reading.value = { snapshot, at: moment() }
    error.value = undefined
    hearClock(snapshot.observed_at)
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
  const share = (snapshot: ProjectSnapshot) => {
    take(snapshot)
    channel.postMessage(snapshot)
  }
  const watch = async (signal: AbortSignal) => {
    for await (const snapshot of owner.projects.watch(id, { signal })) {
      share(snapshot)
      await pause(pauseMs, signal)
    }
  }
  const follow = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      if (await withWait(() => watch(signal))) continue
      share(await owner.projects.snapshot(id, { signal }))
      await pause(withoutWaitMs, signal)
    }
  }
  // The watch itself goes on when a node is silent that has answered before.
  const persist = async (signal: AbortSignal) => {
    const before = renewals.peek()
    try {
      await navigator.locks.request(`bridge-live-${id}`, { signal }, () => follow(signal))
    } catch (failure) {
      if (!signal.aborted && isExpiry(failure)) {
        error.value = failure
        // The person has to sign in again, in this tab or another one.
        await until(renewals, (now) => now !== before, signal)
      } else if (!signal.aborted && isOutcomeUnknown(failure)) await pause(retryMs, signal)
      else if (!signal.aborted && failure instanceof BridgeError) {
        // What is refused now may be allowed again, for example to an administrator of the project.
        error.value = failure
        await pause(refusedMs, signal)
      } else throw failure
    }
  }
  whileAttended(stopping.signal, persist).catch((failure: unknown) => {
    error.value = failure
  })
  void refresh()
  const ageMs = computed(() => (reading.value === undefined ? 0 : elapsedMs(reading.value.at, now.value)))
  return {
    snapshot: computed(() => reading.value?.snapshot),
    ageMs,
    isStale: computed(() => ageMs.value > limits.snapshotStaleSeconds * 1000),
    heardAt: computed(() => reading.value?.at.wallMs),
    // A screen may show a list before the first snapshot has arrived.
    nodeNow: computed(() =>
      reading.value === undefined
        ? nodeNow.value
        : Date.parse(reading.value.snapshot.observed_at) + ageMs.value,
    ),
    error,
    refresh,
    stop: () => {
      stopping.abort()
      channel.close()
    },
  }
}
