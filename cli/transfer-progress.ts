/**
 * How far a transfer is: one line that is drawn over on a terminal, lines of JSON with `--json`, else nothing.
 *
 * It goes to standard error, so that the result alone is on standard output.
 */
import type { TransferProgress } from '../sdk/index.ts'
import type { CliContext } from './context.ts'
import { bytesWords } from './transfer-text.ts'

const everyMs = 250

export interface ShownProgress {
  onProgress(progress: TransferProgress): void
  /** The line is left as it is. */
  done(): void
}

export function transferProgress({ io, settings, clock }: CliContext, what: string): ShownProgress {
  const began = clock().getTime()
  let shownAt = 0
  let isDrawn = false
  let resumedBytes: number | undefined
  const draw = (progress: TransferProgress) => {
    resumedBytes ??= progress.bytes
    const now = clock().getTime()
    const isWhole = progress.bytes === progress.total
    if (!isWhole && now - shownAt < everyMs) return
    shownAt = now
    if (settings.json) io.err(`${JSON.stringify({ progress })}\n`)
    else if (io.isTerminal.stderr) {
      isDrawn = true
      io.err(`\r${line(progress, progress.bytes - resumedBytes, now - began)}\u001b[K`)
    }
  }
  const line = (progress: TransferProgress, moved: number, ms: number): string => {
    const { bytes, total, parts, totalParts, resumedParts } = progress
    const rate = ms > 0 ? (moved * 1000) / ms : 0
    const left = rate > 0 ? `, ${Math.ceil((total - bytes) / rate)} s left` : ''
    const resumed = resumedParts > 0 ? `, ${resumedParts} parts were there` : ''
    return `${what} ${bytesWords(bytes)} of ${bytesWords(total)}, part ${parts} of ${totalParts}, ${bytesWords(Math.round(rate))}/s${left}${resumed}`
  }
  return {
    onProgress: draw,
    done() {
      if (isDrawn) io.err('\n')
      isDrawn = false
    },
  }
}
