/**
 * A body measured while it streams: counted, hashed, and written at its offset.
 *
 * - Writing a stretch overlaps receiving and hashing the next; at most two stretches are in memory.
 * - The body has exactly the length that was promised, and moves at least 64 KiB in 10 s.
 * - The stream is left open on a refusal: whoever owns the connection still has to answer on it.
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

export interface ReceiveOptions {
  /** Exactly so many bytes. */
  readonly size: number
  /** Where they are written; absent: they are only measured. */
  readonly into?: { readonly file: FileHandle; readonly offset: number } | undefined
  /** Its reason ends the receiving, and is thrown as it is. */
  readonly signal?: AbortSignal | undefined
  readonly pace?: Pace | undefined
  readonly onBytes?: ((count: number) => void) | undefined
}

const stretchBytes = 512 * 1024
const syncBytes = 2 * stretchBytes
/** After so much of one body everybody else has a turn: a connection that is full gives two MiB in one. */
const turnBytes = 256 * 1024

/** @throws PartError `length_mismatch`, `too_slow`, the signal's reason, or what the disk says. */
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
  #written = 0
  #writing: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  #synced = 0
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
    // Stays: a connection that breaks after the answer is decided must not end the process.
    this.#body.on('error', () => {})
    this.#body.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onCut)
    if (this.#body.destroyed) this.#onCut()
  }

  readonly #onData = (chunk: Uint8Array): void => {
    this.#count += chunk.length
    if (this.#count > this.#options.size) {
      this.#fail(new PartError('length_mismatch'))
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

  /** Unless something is still waited for. */
  #goOn(): void {
    const isFull = this.#writing !== undefined && this.#gatheredBytes >= stretchBytes
    if (!this.#isYielding && !isFull) this.#body.resume()
  }

  #gather(chunk: Uint8Array): void {
    this.#gathered.push(chunk)
    this.#gatheredBytes += chunk.length
    if (this.#gatheredBytes < stretchBytes) return
    if (this.#writing === undefined) this.#write()
    else this.#body.pause()
  }

  readonly #onEnd = (): void => {
    if (this.#count === this.#options.size) void this.#finish()
    else this.#fail(new PartError('length_mismatch'))
  }

  readonly #onCut = (): void => {
    if (!this.#body.readableEnded) this.#fail(new PartError('length_mismatch'))
  }

  readonly #onAbort = (): void => this.#stop(this.#options.signal?.reason)

  /** "at least 64 KiB in 10 s". What waits for our own disk is not slow. */
  #tick(): void {
    const isSlow = this.#count - this.#countAtTick < this.#pace.progressBytes && !this.#body.isPaused()
    if (isSlow && this.#count < this.#options.size) this.#fail(new PartError('too_slow'))
    this.#countAtTick = this.#count
  }

  #write(): void {
    const { into } = this.#options
    if (into === undefined || this.#gatheredBytes === 0) return
    const stretch = this.#gathered
    const position = into.offset + this.#written
    this.#written += this.#gatheredBytes
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#writing = writeAll(into.file, stretch, position).then(
      () => {
        this.#writing = undefined
        stretch.forEach(release)
        if (this.#isOver) return
        this.#syncAhead(into.file)
        if (this.#gatheredBytes >= stretchBytes) this.#write()
        this.#goOn()
      },
      (error: unknown) => this.#fail(error),
    )
  }

  /**
   * A sync of anybody else's, a commit of the database's among them, waits for what the file system has not written out
   * yet: so that is little at any time. One at a time, beside the writes; the caller's own sync makes the part durable.
   */
  #syncAhead(file: FileHandle): void {
    if (this.#syncing !== undefined || this.#written - this.#synced < syncBytes) return
    this.#synced = this.#written
    this.#syncing = syncLimiter
      .take(() => file.datasync())
      .then(
        () => {
          this.#syncing = undefined
        },
        // Told here once, and not again to the caller's sync.
        (error: unknown) => this.#fail(error),
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

  #fail(error: unknown): void {
    this.#stop(diskRefusal(error))
  }

  #stop(error: unknown): void {
    const underWay = [this.#writing, this.#syncing]
    this.#end(() => {
      this.#body.pause()
      // No write may still be under way when the caller goes on with the file.
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

/** A short write is continued; a disk that is full says so at the next one. */
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
 * Gives the memory of a chunk back at once. The parser makes a new buffer for each; the collector sees only small objects
 * and lets dozens of MiB of them pile up.
 */
function release({ buffer, byteLength }: Uint8Array): void {
  // A view into something larger may have neighbours that are still in use.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}
