/**
 * All open streams of this process and the one timer that they share. A timer per stream would cost more than
 * the connection.
 */
export interface Ticking {
  tick(nowMs: number): void
  /** Called when the server stops. */
  stop(): void
}

export interface Streams {
  /** A stream that is added after `stop` is stopped as soon as its caller has finished opening it. */
  add(stream: Ticking): () => void
  readonly size: number
  /** Ends every stream and stops the timer. */
  stop(): void
}

const everyMs = 1000

export function createStreams(monotonicMs: () => number): Streams {
  const open = new Set<Ticking>()
  let isStopped = false
  const timer = setInterval(() => {
    const now = monotonicMs()
    for (const stream of [...open]) stream.tick(now)
  }, everyMs)
  timer.unref()
  return {
    add(stream) {
      open.add(stream)
      if (isStopped) queueMicrotask(() => stream.stop())
      return () => open.delete(stream)
    },
    get size() {
      return open.size
    },
    stop() {
      clearInterval(timer)
      isStopped = true
      for (const stream of [...open]) stream.stop()
    },
  }
}
