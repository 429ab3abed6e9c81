/** What both directions share: the status of the home, attempts, progress. */
import type { TransferStatus } from '../contract/helper/endpoints.ts'
import type { Manifest, ManifestPart } from '../contract/helper/manifest.ts'
import { BridgeError, LocalError } from '../transport/failures.ts'
import type { Line } from './exchange.ts'
import { Patience, type PatienceOptions } from './patience.ts'

/** How far a transfer is, in bytes. */
export interface TransferProgress {
  /** Bytes of the file that are across, those of the part under way included. */
  readonly bytes: number
  readonly total: number
  readonly parts: number
  readonly totalParts: number
  /** Parts that were there before this call. */
  readonly resumedParts: number
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
  /** Any request, as often as it takes. */
  again<T>(attempt: () => Promise<T>): Promise<T>
}

export function partWork(line: Line, manifest: Manifest, options: TransferOptions): PartWork {
  const patience = new Patience(options)
  const total = manifest.size
  const totalParts = manifest.parts.length
  const count = { across: 0, moving: 0, parts: 0, resumed: 0 }
  const tell = (): void =>
    options.onProgress?.({
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
export async function statusOf(work: PartWork, line: Line, manifest: Manifest): Promise<TransferStatus> {
  const ask = { method: 'GET', path: '/status', idleMs: work.idleMs } as const
  const status = await work.again(() => line.ask<TransferStatus>(ask, ['committed_parts', 'verified']))
  const isOther = (status.sha256 ?? manifest.sha256) !== manifest.sha256
  if (isOther) throw new LocalError('integrity', 'the other side has the manifest of another file')
  return status
}
