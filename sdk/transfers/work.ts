/** What both directions share: the status of the home, attempts, progress. */
import type { TransferStatus } from '../contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../contract/helper/manifest.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { Line } from './exchange.ts'
import { Patience, type PatienceOptions } from './patience.ts'

/** What is done of a transfer, in this order; some of it not for every file, nor on both sides. */
export type TransferPhase = 'sealing' | 'reading' | 'moving' | 'checking' | 'opening'

/** How far a transfer is, in bytes. */
export interface TransferProgress {
  /** Before the offer the file is sealed and read; then it moves; at last the whole is checked, and opened where it was sealed. */
  readonly phase: TransferPhase
  /** Of this phase; while it moves those of the file that are across, those of the part under way included. */
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

/** What tells of such a phase, from counts of bytes. */
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

/** What every transfer takes. */
export interface TransferOptions extends PatienceOptions {
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /** How long a connection may be silent. */
  readonly idleMs?: number | undefined
}

const usualIdleMs = 30_000

export interface PartWork {
  readonly idleMs: number
  /** These parts are across already. */
  resume(parts: readonly ManifestPart[]): void
  /** One part, as often as it takes; `attempt` tells the bytes as they move. */
  each(part: ManifestPart, attempt: (onBytes: (count: number) => void) => Promise<void>): Promise<void>
  /** All parts are across: the whole is checked. */
  check(): void
  /** Any request, as often as it takes. */
  again<T>(attempt: () => Promise<T>): Promise<T>
}

export function partWork(line: Line, manifest: Manifest, options: TransferOptions): PartWork {
  const patience = new Patience(options)
  const total = manifest.size
  const totalParts = manifest.parts.length
  const count = { across: 0, moving: 0, parts: 0, resumed: 0 }
  const tell = (phase: TransferPhase = 'moving'): void =>
    options.onProgress?.({
      phase,
      bytes: count.across + count.moving,
      total,
      parts: count.parts,
      totalParts,
      resumedParts: count.resumed,
    })
  const again = async <T>(attempt: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        const result = await attempt()
        patience.renew()
        return result
      } catch (error) {
        if (options.signal?.aborted)
          throw new LocalError('aborted', 'given up by the caller', { cause: error })
        if (error instanceof BridgeError && (await line.home.mend?.(error)) === true) continue
        await patience.afterFailure(error)
      }
    }
  }
  return {
    idleMs: options.idleMs ?? usualIdleMs,
    again,
    check: () => tell('checking'),
    resume: (parts) => {
      count.across = parts.reduce((sum, { size }) => sum + size, 0)
      count.parts = parts.length
      count.resumed = parts.length
      tell()
    },
    each: async (part, attempt) => {
      await again(() => {
        count.moving = 0
        return attempt((bytes) => {
          count.moving += bytes
          tell()
        })
      })
      count.moving = 0
      count.across += part.size
      count.parts += 1
      tell()
    },
  }
}

/** The status of the home. @throws LocalError `integrity` when it holds another file. */
export async function statusOf(
  work: PartWork,
  line: Line,
  manifest: Manifest,
  signal: AbortSignal | undefined,
): Promise<TransferStatus> {
  const ask = { method: 'GET', path: '/status', signal, idleMs: work.idleMs } as const
  const status = await work.again(() => line.ask<TransferStatus>(ask, ['committed_parts', 'verified']))
  const isOther = (status.sha256 ?? manifest.sha256) !== manifest.sha256
  if (isOther) throw new LocalError('integrity', 'the other side has the manifest of another file')
  return status
}
