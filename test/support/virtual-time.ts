/** Time that passes only in pauses: once everything else waits, it moves to the end of the shortest pause. */
export interface VirtualTime {
  readonly nowMs: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export function virtualTime(startMs = 0): VirtualTime {
  let now = startMs
  const ends = new Set<{ readonly atMs: number; readonly over: () => void }>()
  let isMoving = false

  function move(): void {
    isMoving = false
    const [first] = [...ends].sort((a, b) => a.atMs - b.atMs)
    if (first === undefined) return
    ends.delete(first)
    now = Math.max(now, first.atMs)
    first.over()
    later()
  }

  function later(): void {
    if (isMoving || ends.size === 0) return
    isMoving = true
    setImmediate(move)
  }

  return {
    nowMs: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const end = { atMs: now + ms, over: resolve }
        ends.add(end)
        signal?.addEventListener(
          'abort',
          () => {
            ends.delete(end)
            reject(signal.reason)
          },
          { once: true },
        )
        later()
      }),
  }
}
