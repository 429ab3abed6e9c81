/** Common part of upload and download: the status of the endpoint, attempts, progress. */
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
   * Before the offer the file is sealed and read; then it moves; at last the whole is checked, and opened
   * where it was sealed.
   */
  readonly phase: TransferPhase
  /** Bytes done in this phase. While the file moves, this includes the bytes of the part in flight. */
  readonly bytes: number
  readonly total: number
  readonly parts: number
  readonly totalParts: number
  /** Parts that were there before this call. */
  readonly resumedParts: number
}

/** A phase that is not about parts. */
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
  /** How long a connection may be silent. */
  readonly idleMs?: number | undefined
}

const usualIdleMs = 30_000

/** `onBytes` is called with the number of bytes as they move. */
export type PartAttempt = (
  part: ManifestPart,
  options: { readonly onBytes: (count: number) => void; readonly signal: AbortSignal | undefined },
) => Promise<void>

/** The parts of one transfer over one line: as often as it takes, and how far it is. */
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

  /** These parts are across already. */
  resume(parts: readonly ManifestPart[]): void {
    this.#across = parts.reduce((sum, { size }) => sum + size, 0)
    this.#parts = parts.length
    this.#resumed = parts.length
    this.#tell()
  }

  /** All parts are across: the whole is checked. */
  check(): void {
    this.#tell('checking')
  }

  /** Any request, as often as it takes. */
  async again<T>(attempt: () => Promise<T>, signal = this.#options.signal): Promise<T> {
    const patience = new PartRetry({ ...this.#options, signal })
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        if (this.#options.signal?.aborted)
          throw new LocalError('aborted', 'given up by the caller', { cause: error })
        if (error instanceof BridgeError && (await this.#line.home.mend?.(error)) === true) continue
        await patience.afterFailure(error)
      }
    }
  }

  /** One part, as often as it takes. */
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
   * All of them, so many at a time as the home hands out; the first that fails ends the others, and is what
   * is thrown.
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
    const { partsAtOnce = 1 } = this.#line.home
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

/** The status of the home. @throws LocalError `integrity` when it holds another file. */
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
