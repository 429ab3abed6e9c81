/**
 * Runs the parts of an upload or a download: asks the status of the endpoint, retries, and reports progress.
 */
import type { TransferStatus } from '../../contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../../contract/helper/manifest.ts'
import { BridgeError, LocalError } from '../../transport/failures.ts'
import type { Connection } from './connection.ts'
import { PartRetry, type RetryOptions } from './part-retry.ts'

/** Phases of a transfer, in this order. Some do not apply to every file or to both sides. */
export type TransferPhase = 'sealing' | 'reading' | 'moving' | 'checking' | 'opening'

/** Progress of a transfer, in bytes. */
export interface TransferProgress {
  /**
   * `sealing` and `reading` come before the offer. `moving` follows. At the end the whole file is checked
   * (`checking`) and, if it is sealed, opened (`opening`).
   */
  readonly phase: TransferPhase
  /** Bytes done in this phase. While the file moves, this includes the bytes of the part in flight. */
  readonly bytes: number
  readonly total: number
  readonly parts: number
  readonly totalParts: number
  /** Parts that an earlier call had moved. */
  readonly resumedParts: number
}

/** Returns the progress of a phase without parts. */
export const phaseOf = (phase: TransferPhase, bytes: number, total: number): TransferProgress => ({
  phase,
  bytes,
  total,
  parts: 0,
  totalParts: 0,
  resumedParts: 0,
})

/** Returns a function that reports the progress of such a phase from byte counts. */
export function counting(
  phase: TransferPhase,
  total: number,
  onProgress: TransferOptions['onProgress'],
): (count: number) => void {
  let bytes = 0
  return (count) => {
    bytes += count
    onProgress?.(phaseOf(phase, bytes, total))
  }
}

/** Options of every upload and download. */
export interface TransferOptions extends RetryOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /** Time limit for a connection on which no byte moves. 30 seconds by default. */
  readonly idleMs?: number | undefined
}

const usualIdleMs = 30_000

/** One attempt to move a part. It calls `onBytes` with the number of bytes as they move. */
export type PartAttempt = (
  part: ManifestPart,
  options: { readonly onBytes: (count: number) => void; readonly signal: AbortSignal | undefined },
) => Promise<void>

/** Moves the parts of one transfer over one connection, with retries, and reports the progress. */
export class PartRunner {
  readonly #line: Connection
  readonly #manifest: Manifest
  readonly #options: TransferOptions
  #across = 0
  #moving = 0
  #parts = 0
  #resumed = 0

  constructor(line: Connection, manifest: Manifest, options: TransferOptions) {
    this.#line = line
    this.#manifest = manifest
    this.#options = options
  }

  get idleMs(): number {
    return this.#options.idleMs ?? usualIdleMs
  }

  /** Counts parts that an earlier call has moved. */
  resume(parts: readonly ManifestPart[]): void {
    this.#across = parts.reduce((sum, { size }) => sum + size, 0)
    this.#parts = parts.length
    this.#resumed = parts.length
    this.#tell()
  }

  /** Reports that all parts have moved and the whole file is being checked. */
  check(): void {
    this.#tell('checking')
  }

  /**
   * Repeats a request until it succeeds or must not be retried.
   *
   * @throws LocalError `aborted`, and as `PartRetry`
   */
  async again<T>(attempt: () => Promise<T>, signal = this.#options.signal): Promise<T> {
    const retry = new PartRetry({ ...this.#options, signal })
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (this.#options.signal?.aborted)
          throw new LocalError('aborted', 'given up by the caller', { cause: error })
        if (error instanceof BridgeError && (await this.#line.endpoint.recover?.(error)) === true) continue
        await retry.afterFailure(error)
      }
    }
  }

  /** Moves one part, with retries. */
  async each(part: ManifestPart, attempt: PartAttempt, signal = this.#options.signal): Promise<void> {
    let moving = 0
    const drop = () => {
      this.#moving -= moving
      moving = 0
    }
    const onBytes = (bytes: number) => {
      moving += bytes
      this.#moving += bytes
      this.#tell()
    }
    await this.again(() => {
      drop()
      return attempt(part, { onBytes, signal })
    }, signal)
    drop()
    this.#across += part.size
    this.#parts += 1
    this.#tell()
  }

  /**
   * Moves parts, as many at a time as the endpoint allows. The first failure ends the other attempts and is
   * thrown.
   */
  async all(parts: readonly ManifestPart[], attempt: PartAttempt): Promise<void> {
    const waiting = [...parts]
    const failing = new AbortController()
    const { signal: given } = this.#options
    const signal = given === undefined ? failing.signal : AbortSignal.any([given, failing.signal])
    const failures: unknown[] = []
    const worker = async () => {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
        await this.each(part, attempt, signal)
        if (failures.length > 0) return
      }
    }
    const failed = (error: unknown) => {
      failures.push(error)
      failing.abort()
    }
    const { partsAtOnce = 1 } = this.#line.endpoint
    await Promise.all(Array.from({ length: partsAtOnce }, () => worker().catch(failed)))
    if (failures.length > 0) throw failures[0]
  }

  #tell(phase: TransferPhase = 'moving'): void {
    this.#options.onProgress?.({
      phase,
      bytes: this.#across + this.#moving,
      total: this.#manifest.size,
      parts: this.#parts,
      totalParts: this.#manifest.parts.length,
      resumedParts: this.#resumed,
    })
  }
}

/** Reads the status of the endpoint. @throws LocalError `integrity` if the endpoint has another file */
export async function statusOf(
  work: PartRunner,
  line: Connection,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<TransferStatus> {
  const ask = { method: 'GET', path: '/status', signal, idleMs: work.idleMs } as const
  const status = await work.again(() => line.ask<TransferStatus>(ask, ['committed_parts', 'verified']))
  const isOther = (status.sha256 ?? manifest.sha256) !== manifest.sha256
  if (isOther) throw new LocalError('integrity', 'the other side has the manifest of another file')
  return status
}
