/**
 * Receiving a body: it is counted, hashed, and written to a sink while it streams in.
 *
 * - Writing one stretch overlaps with receiving and hashing the next. At most two stretches are in memory.
 * - The body must have exactly the promised length, and must move at least 64 KiB in 10 s.
 * - After a refusal the stream stays open, since the owner of the connection still has to answer on it.
 */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { transferLimits } from '../contract/helper/limits.ts'
import { syncLimiter } from './limiter.ts'
import { diskRefusal, PartError } from './part-error.ts'

export interface Measured {
  readonly size: number
  readonly sha256: string
}

export interface Pace {
  readonly progressBytes: number
  readonly progressMs: number
}

export const usualPace: Pace = {
  progressBytes: transferLimits.progressBytes,
  progressMs: transferLimits.progressSeconds * 1000,
}

/** Takes the bytes of a body in order, one stretch at a time. */
export interface Sink {
  /** Bytes that are gathered for a stretch. */
  readonly stretchBytes: number
  /** Takes the buffers of a stretch, which nothing else uses from then on. Its error ends the receiving. */
  write(stretch: Uint8Array[]): Promise<void>
  /** Called after a write. Syncs some of the bytes beside later writes. */
  syncAhead?(): Promise<void> | undefined
}

export interface ReceiveOptions {
  /** Exact length of the body in bytes. */
  readonly size: number
  /** Takes the bytes. If absent, the body is only counted and hashed. */
  readonly into?: Sink | undefined
  /** Aborts the receiving. Its reason is thrown unchanged. */
  readonly signal?: AbortSignal | undefined
  readonly pace?: Pace | undefined
  readonly onBytes?: ((count: number) => void) | undefined
}

const fileStretchBytes = 512 * 1024
const syncBytes = 2 * fileStretchBytes
/**
 * Bytes of one body after which it yields to other work. A full connection would otherwise deliver 2 MiB in
 * one turn.
 */
const turnBytes = 256 * 1024

/**
 * Receives a body.
 *
 * @throws PartError `length_mismatch`, `too_slow`, the signal's reason, or a failure of the disk.
 */
export function receive(body: Readable, options: ReceiveOptions): Promise<Measured> {
  return new Promise((resolve, reject) => new PartReceiver(body, options, resolve, reject).begin())
}

class PartReceiver {
  readonly #body: Readable
  readonly #options: ReceiveOptions
  readonly #resolve: (measured: Measured) => void
  readonly #reject: (error: unknown) => void
  readonly #hash = createHash('sha256')
  readonly #pace: Pace
  #count = 0
  #countAtTick = 0
  #sinceTurn = 0
  #isYielding = false
  #gathered: Uint8Array[] = []
  #gatheredBytes = 0
  #writing: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  #ticker: NodeJS.Timeout | undefined
  #isOver = false

  constructor(
    body: Readable,
    options: ReceiveOptions,
    resolve: (measured: Measured) => void,
    reject: (error: unknown) => void,
  ) {
    this.#body = body
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#pace = options.pace ?? usualPace
  }

  begin(): void {
    const { signal } = this.#options
    if (signal?.aborted) {
      this.#stop(signal.reason)
      return
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#ticker = setInterval(() => this.#tick(), this.#pace.progressMs)
    // This listener is never removed: an error after the answer was decided must not end the process.
    this.#body.on('error', () => {})
    this.#body.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onCut)
    if (this.#body.destroyed) this.#onCut()
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#count += chunk.length
    if (this.#count > this.#options.size) {
      this.#stop(new PartError('length_mismatch'))
      return
    }
    this.#hash.update(chunk)
    this.#options.onBytes?.(chunk.length)
    if (this.#options.into === undefined) release(chunk)
    else this.#gather(chunk)
    this.#sinceTurn += chunk.length
    if (this.#sinceTurn >= turnBytes) this.#yield()
  }

  #yield(): void {
    this.#sinceTurn = 0
    if (this.#isYielding) return
    this.#isYielding = true
    this.#body.pause()
    setImmediate(() => {
      this.#isYielding = false
      if (!this.#isOver) this.#goOn()
    })
  }

  /** Resumes the body unless it yields, or both stretches are full. */
  #goOn(): void {
    const isFull = this.#writing !== undefined && this.#isStretch()
    if (!this.#isYielding && !isFull) this.#body.resume()
  }

  #gather(chunk: Uint8Array): void {
    this.#gathered.push(chunk)
    this.#gatheredBytes += chunk.length
    if (!this.#isStretch()) return
    if (this.#writing === undefined) this.#write()
    else this.#body.pause()
  }

  #isStretch(): boolean {
    return this.#gatheredBytes >= (this.#options.into?.stretchBytes ?? 0)
  }

  readonly #onEnd = (): void => {
    if (this.#count === this.#options.size) void this.#finish()
    else this.#stop(new PartError('length_mismatch'))
  }

  readonly #onCut = (): void => {
    if (!this.#body.readableEnded) this.#stop(new PartError('length_mismatch'))
  }

  readonly #onAbort = (): void => this.#stop(this.#options.signal?.reason)

  /** "at least 64 KiB in 10 s". A body that is paused for the sink is not slow. */
  #tick(): void {
    const isSlow = this.#count - this.#countAtTick < this.#pace.progressBytes && !this.#body.isPaused()
    if (isSlow && this.#count < this.#options.size) this.#stop(new PartError('too_slow'))
    this.#countAtTick = this.#count
  }

  #write(): void {
    const { into } = this.#options
    if (into === undefined || this.#gatheredBytes === 0) return
    const stretch = this.#gathered
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#writing = into.write(stretch).then(
      () => {
        this.#writing = undefined
        if (this.#isOver) return
        this.#syncAhead(into)
        if (this.#isStretch()) this.#write()
        this.#goOn()
      },
      (error: unknown) => this.#stop(error),
    )
  }

  #syncAhead(into: Sink): void {
    if (this.#syncing !== undefined) return
    this.#syncing = into.syncAhead?.()?.then(
      () => {
        this.#syncing = undefined
      },
      (error: unknown) => this.#stop(error),
    )
  }

  async #finish(): Promise<void> {
    while (this.#writing !== undefined || this.#gatheredBytes > 0 || this.#syncing !== undefined) {
      if (this.#writing === undefined) this.#write()
      await (this.#writing ?? this.#syncing)
      if (this.#isOver) return
    }
    this.#end(() => this.#resolve({ size: this.#count, sha256: this.#hash.digest('hex') }))
  }

  #stop(error: unknown): void {
    const underWay = [this.#writing, this.#syncing]
    this.#end(() => {
      this.#body.pause()
      // All writes must have ended before the caller uses the file.
      void Promise.all(underWay).then(() => this.#reject(error))
    })
  }

  #end(settle: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    clearInterval(this.#ticker)
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    this.#body.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onCut)
    settle()
  }
}

/**
 * Writes to a file from an offset on.
 *
 * A sync of another file, such as a database commit, waits for all bytes that the file system has not written
 * out, so they are kept few: each MiB is synced beside the writes. The caller's own sync makes the part
 * durable.
 */
export function fileSink(file: FileHandle, offset: number): Sink {
  let written = 0
  let synced = 0
  return {
    stretchBytes: fileStretchBytes,
    async write(stretch) {
      const position = offset + written
      written += stretch.reduce((sum, { length }) => sum + length, 0)
      try {
        await writeAll(file, stretch, position)
      } catch (error) {
        throw diskRefusal(error)
      }
      stretch.forEach(release)
    },
    syncAhead() {
      if (written - synced < syncBytes) return undefined
      synced = written
      return syncLimiter
        .take(() => file.datasync())
        .catch((error: unknown) => {
          // The system reports a write error once, here, and not again to the caller's sync.
          throw diskRefusal(error)
        })
    },
  }
}

/** Writes all chunks. A short write is continued; on a full disk the next write fails. */
async function writeAll(file: FileHandle, chunks: Uint8Array[], position: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks, position)
  let rest = Buffer.alloc(0)
  if (bytesWritten < chunks.reduce((sum, { length }) => sum + length, 0)) {
    rest = Buffer.concat(chunks).subarray(bytesWritten)
  }
  let at = position + bytesWritten
  while (rest.length > 0) {
    const written = (await file.write(rest, 0, rest.length, at)).bytesWritten
    if (written === 0) throw new PartError('storage_failed')
    rest = rest.subarray(written)
    at += written
  }
}

/**
 * Frees the memory of a chunk immediately. The HTTP parser allocates a buffer per chunk, and the garbage
 * collector would let dozens of MiB of them pile up.
 */
function release({ buffer, byteLength }: Uint8Array): void {
  // A view into a larger buffer is not freed, since other views of it may be in use.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
