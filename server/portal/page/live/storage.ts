/** Whether the disk of the node is full, or its object store of packages silent, which every screen says. */
import { signal } from '@preact/signals'
import { busyAnswers, owner } from '../owner.ts'
import { whileAttended } from './attendance.ts'

const everyMs = 30_000

export const isStorageFull = signal(false)
export const isPackageStoreSilent = signal(false)

/** Looks after each answer 503, and twice a minute while somebody may be looking at the page. */
export function watchStorage(): () => void {
  const stopping = new AbortController()
  void whileAttended(stopping.signal, async (signal) => {
    await look(signal)
    // The readiness of a full node is a 503 itself, which is counted now.
    await changeOrPause(busyAnswers.peek(), signal)
  })
  return () => stopping.abort()
}

/** Reads the readiness of the node, which needs no sign-in and renews none. */
async function look(signal: AbortSignal): Promise<void> {
  try {
    const { checks, packages } = await owner.readiness({ signal })
    isStorageFull.value = !checks.storage && packages
    isPackageStoreSilent.value = !packages
  } catch {
    // A node that does not answer says nothing about its disk.
  }
}

const changeOrPause = (seen: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    let stop = () => {}
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      stop()
      resolve()
    }
    const timer = setTimeout(end, everyMs)
    stop = busyAnswers.subscribe((count) => {
      if (count !== seen) queueMicrotask(end)
    })
    signal.addEventListener('abort', end)
  })
