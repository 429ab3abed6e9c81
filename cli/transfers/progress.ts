/**
 * Progress of file transfers: one redrawn line on a terminal, lines of JSON with `--json`, otherwise nothing.
 *
 * It goes to standard error, so that standard output has only the result.
 */
import type { TransferPhase, TransferProgress } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { bytesWords } from './text.ts'

const everyMs = 250

export interface ShownProgress {
  /** Progress callback of one of the files that are shown together. */
  of(file: string): { onProgress(progress: TransferProgress): void }
  /** Clears the line. */
  done(): void
}

const phases = ['sealing', 'reading', 'moving', 'checking', 'opening'] as const satisfies TransferPhase[]

/** Shows progress. `moved` names the direction, `files` is the number of files. */
export function transferProgress(
  { io, settings, clock }: CliContext,
  moved: 'uploaded' | 'received',
  files = 1,
): ShownProgress {
  const known = new Map<string, TransferProgress>()
  let shownAt = 0
  let since: { phase: TransferPhase; ms: number; bytes: number } | undefined
  const show = (file: string, progress: TransferProgress) => {
    const last = known.get(file)
    const isNext = last?.phase !== progress.phase || last.parts !== progress.parts
    known.set(file, progress)
    const all = together([...known.values()], files)
    const now = clock().getTime()
    if (since?.phase !== all.phase) since = { phase: all.phase, ms: now, bytes: all.bytes }
    const isWhole = progress.bytes === progress.total
    if (!isWhole && !isNext && now - shownAt < everyMs) return
    shownAt = now
    if (settings.json) io.err(`${JSON.stringify(files === 1 ? { progress } : { file, progress })}\n`)
    else if (io.isTerminal.stderr)
      io.draw(lineOf(all, moved, { bytes: all.bytes - since.bytes, ms: now - since.ms }))
  }
  return {
    of: (file) => ({ onProgress: (progress) => show(file, progress) }),
    done: () => io.undraw(),
  }
}

/** Combines the progress of several files. The slowest file determines the phase. */
function together(all: readonly TransferProgress[], files: number): TransferProgress {
  const [first] = all
  if (first !== undefined && files === 1) return first
  const at = Math.min(...all.map(({ phase }) => phases.indexOf(phase)))
  const phase = phases[at] ?? 'moving'
  // A file in a later phase has completed this one.
  const bytesIn = (one: TransferProgress) => (one.phase === phase ? one.bytes : one.total)
  const sum = (of: (one: TransferProgress) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    phase,
    bytes: sum(bytesIn),
    total: sum(({ total }) => total),
    parts: sum(({ parts }) => parts),
    totalParts: sum(({ totalParts }) => totalParts),
    resumedParts: sum(({ resumedParts }) => resumedParts),
  }
}

function lineOf(
  { phase, bytes, total, parts, totalParts, resumedParts }: TransferProgress,
  moved: string,
  since: { readonly bytes: number; readonly ms: number },
): string {
  if (phase === 'checking') return `${moved} ${bytesWords(total)}, checking the whole file`
  const rate = since.ms > 0 ? (since.bytes * 1000) / since.ms : 0
  const resumed = resumedParts > 0 ? ` (${resumedParts} resumed)` : ''
  return [
    `${phase === 'moving' ? moved : phase} ${bytesWords(bytes)} of ${bytesWords(total)}`,
    `${bytesWords(Math.round(rate))}/s`,
    ...(rate > 0 && bytes < total ? [timeLeft(Math.ceil((total - bytes) / rate))] : []),
    // Last, because a narrow terminal cuts off the end.
    ...(phase === 'moving' ? [`part ${parts} of ${totalParts}${resumed}`] : []),
  ].join(', ')
}

function timeLeft(seconds: number): string {
  if (seconds < 120) return `${seconds} s left`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min left` : `${Math.round(seconds / 3600)} h left`
}
