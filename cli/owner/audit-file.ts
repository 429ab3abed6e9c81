/** Writes audit records to standard output as a file: JSON lines, or CSV for a spreadsheet. Contract §12. */
import { neutralize } from '../../sdk/plain-text.ts'
import type { AuditFormat, ReadPage } from '../../sdk/program.ts'
import type { CliContext } from '../context.ts'

export interface AuditFile {
  readonly format: AuditFormat
  /** The option that reads on after the last record, in the direction of `read`. */
  readonly goOn: '--before' | '--after'
  readonly read: (after: string | undefined) => Promise<ReadPage>
  /** The most records. */
  readonly most?: number
}

/**
 * Reads the next page after the one before was written, so the memory does not grow. Ends early if standard
 * output is closed.
 */
export async function writeAuditFile(
  { io, output }: Pick<CliContext, 'io' | 'output'>,
  { format, goOn, read, most }: AuditFile,
): Promise<void> {
  const { auditParts } = await import('../../sdk/program.ts')
  for await (const { text, count, cutAt, isLast } of auditParts(format, read, most)) {
    const shown = io.isTerminal.stdout ? neutralize(text.replaceAll('\r\n', '\n')) : text
    if (!(await io.handOver(shown))) return
    if (isLast) output.note(`exported ${count} ${count === 1 ? 'record' : 'records'}`)
    if (cutAt !== undefined)
      output.note(`there are more; the same command with ${goOn} ${cutAt} exports the following ones`)
  }
}
