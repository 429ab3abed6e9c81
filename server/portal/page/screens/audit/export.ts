/** The audit as a file that a browser saves. */
import { type AuditFormat, auditParts, mostRecords, type ReadPage } from '../../../../../sdk/audit-export.ts'

export const types: Readonly<Record<AuditFormat, string>> = {
  jsonl: 'application/jsonl',
  csv: 'text/csv;charset=utf-8',
}

export interface Exported {
  /** One text for each page. */
  readonly texts: readonly string[]
  readonly count: number
  /** True if the audit has more records than a file. */
  readonly isCut: boolean
}

/** Reads page after page. `counted` hears the number of records so far. */
export async function exported(
  format: AuditFormat,
  read: (after: string | undefined) => Promise<ReadPage>,
  counted: (count: number) => void,
  most = mostRecords,
): Promise<Exported> {
  const texts: string[] = []
  let last = { count: 0, isCut: false }
  for await (const { text, count, cutAt } of auditParts(format, read, most)) {
    texts.push(text)
    last = { count, isCut: cutAt !== undefined }
    counted(count)
  }
  return { texts, ...last }
}
