/**
 * Downloads that are under way, by transfer: what is removed is read no further, however slowly it was, and its bytes are
 * not said to be gone before every reader let go of them.
 *
 * Contract §9 "bytes removed".
 */
import { PartError } from '../../../sdk/parts/part-error.ts'

export interface OpenDownload {
  /** Aborted when the bytes go. */
  readonly signal: AbortSignal
  /** The file is closed. */
  done(): void
}

export interface OpenDownloads {
  begin(transferId: string): OpenDownload
  /** Ends those of a transfer, and waits until their files are closed. */
  end(transferId: string): Promise<void>
}

interface UnderWay {
  readonly stop: AbortController
  readonly closed: PromiseWithResolvers<void>
}

export function createOpenDownloads(): OpenDownloads {
  const all = new Map<string, Set<UnderWay>>()
  return {
    begin(transferId) {
      const one = { stop: new AbortController(), closed: Promise.withResolvers<void>() }
      const those = all.get(transferId) ?? new Set()
      all.set(transferId, those.add(one))
      return {
        signal: one.stop.signal,
        done() {
          those.delete(one)
          if (those.size === 0 && all.get(transferId) === those) all.delete(transferId)
          one.closed.resolve()
        },
      }
    },
    async end(transferId) {
      const those = [...(all.get(transferId) ?? [])]
      for (const { stop } of those) stop.abort(new PartError('expired'))
      await Promise.all(those.map(({ closed }) => closed.promise))
    },
  }
}
