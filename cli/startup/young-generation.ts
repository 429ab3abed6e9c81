/**
 * Bounds V8's young generation, the part of the heap for new objects.
 *
 * V8 doubles it, up to 128 MiB, whenever enough objects survive a collection, and a node that was once busy
 * keeps that size. With 5,000 idle listeners it was most of the memory. Beyond 8 MiB a server gains nothing,
 * because the objects of a request are garbage before 8 MiB are full. The limit can be set only at Node's
 * start, so this code sets the growth factor to 1 once 8 MiB are reached.
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

const enoughBytes = 8 * 1024 * 1024

const sizeNow = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/**
 * Stops the growth during the start. The start creates many lasting objects in one turn, so no observer could
 * run.
 */
export function holdYoungGeneration(): void {
  grow(1)
}

/** Allows growth up to 8 MiB from now on. */
export function boundYoungGeneration(): void {
  const observer = new PerformanceObserver(() => {
    if (sizeNow() < enoughBytes) return
    observer.disconnect()
    grow(1)
  })
  observer.observe({ entryTypes: ['gc'] })
  grow(2)
}

/** Sets the growth factor; 2 is the default of V8. */
const grow = (factor: 1 | 2): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`)
