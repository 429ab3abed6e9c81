/**
 * Running downloads by transfer. Before a package is removed, its downloads are stopped, and the removal
 * waits until all of them have closed the file.
 *
 * Contract §9 "bytes removed".
 */
import { PartError } from '../../sdk/parts/part-error.ts'

export interface OpenDownload {
  /** Aborted when the package is removed. */
  readonly signal: AbortSignal
  /** Must be called when the file is closed. */
  done(): void
}

export interface OpenDownloads {
  begin(transferId: string): OpenDownload
  /** Stops the downloads of a transfer and waits until their files are closed. */
  end(transferId: string): Promise<void>
}

interface RunningDownload {
  readonly stop: AbortController
  readonly closed: PromiseWithResolvers<void>
}

export function createOpenDownloads(): OpenDownloads {
  const all = new Map<string, Set<RunningDownload>>()
  return {
    begin(transferId) {
      const one = { stop: new AbortController(), closed: Promise.withResolvers<void>() }
      const downloads = all.get(transferId) ?? new Set()
      all.set(transferId, downloads.add(one))
      return {
        signal: one.stop.signal,
        done() {
          downloads.delete(one)
          if (downloads.size === 0 && all.get(transferId) === downloads) all.delete(transferId)
          one.closed.resolve()
        },
      }
    },
    async end(transferId) {
      const downloads = [...(all.get(transferId) ?? [])]
      for (const { stop } of downloads) stop.abort(new PartError('expired'))
      await Promise.all(downloads.map(({ closed }) => closed.promise))
    },
  }
}
