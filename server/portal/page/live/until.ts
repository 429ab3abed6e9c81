/** Waits until a signal of the page has a value for which `holds`, or until `abort` aborts. */
import type { ReadonlySignal } from '@preact/signals'

export const until = <T>(
  of: ReadonlySignal<T>,
  holds: (value: T) => boolean,
  abort: AbortSignal,
): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      abort.removeEventListener('abort', end)
      stop()
      resolve()
    }
    let stop = () => {}
    stop = of.subscribe((value) => {
      // The first value comes before `stop` is known.
      if (holds(value)) queueMicrotask(end)
    })
    abort.addEventListener('abort', end, { once: true })
    if (abort.aborted) end()
  })
