/**
 * How much memory V8 sets aside for what has just been made.
 *
 * It doubles that part whenever enough of it outlives a collection, up to 128 MiB, and a node that was once busy keeps
 * it. Of 5,000 idle listeners most of the memory was this. From 8 MiB on it gains a server nothing: what a request makes
 * is gone before that is full. No setting but one of the command line bounds it, so the growth is ended when it is there.
 */
import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

const enoughBytes = 8 * 1024 * 1024

const sizeNow = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/** From the beginning of a start, which makes much that stays, on one long turn in which nobody could end the growth. */
export function holdYoungGeneration(): void {
  grow(1)
}

/** From here on, for the whole process. */
export function boundYoungGeneration(): void {
  const observer = new PerformanceObserver(() => {
    if (sizeNow() < enoughBytes) return
    observer.disconnect()
    grow(1)
  })
  observer.observe({ entryTypes: ['gc'] })
  grow(2)
}

/** By how much each time; 2 is V8's own. */
const grow = (factor: 1 | 2): void => setFlagsFromString(`--semi-space-growth-factor=${factor}`)
