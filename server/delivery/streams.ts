/**
 * Every open stream of this process, and the one timer that they share: a timer for each would cost more than the
 * connection does.
 */
export interface Ticking {
  tick(nowMs: number): void
  /** The server stops. */
  stop(): void
}

export interface Streams {
  add(stream: Ticking): () => void
  readonly size: number
  /** End every stream and the timer. */
  stop(): void
}

const everyMs = 1000

export function createStreams(monotonicMs: () => number): Streams {
  const open = new Set<Ticking>()
  const timer = setInterval(() => {
    const now = monotonicMs()
    for (const stream of [...open]) stream.tick(now)
  }, everyMs)
  timer.unref()
  return {
    add(stream) {
      open.add(stream)
      return () => open.delete(stream)
    },
    get size() {
      return open.size
    },
    stop() {
      clearInterval(timer)
      for (const stream of [...open]) stream.stop()
    },
  }
}
