/**
 * The audit as a file: JSON lines, or CSV for a spreadsheet. The owner's page and the command line share it.
 *
 * It uses no `node:` module and keeps no state. The package does not export this file.
 */
import type { AuditRecord } from './contract/owner/audit.ts'
import { plainJson } from './plain-text.ts'

export type AuditFormat = 'jsonl' | 'csv'

/** One export has this many records at most. */
export const mostRecords = 100_000

const columns: readonly (readonly [name: string, of: (record: AuditRecord) => string | null])[] = [
  ['at', ({ at }) => at],
  ['kind', ({ kind }) => kind],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_name', ({ actor }) => actor.name],
  ['actor_id', ({ actor }) => actor.id],
  ['subject_type', ({ subject }) => subject.type],
  ['subject_id', ({ subject }) => subject.id],
  ['project_id', ({ project_id }) => project_id],
  ['request_id', ({ request_id }) => request_id],
  ['id', ({ id }) => id],
  ['details', ({ details }) => plainJson(details)],
]

/** A spreadsheet runs a cell that begins with one of these as a formula. */
const formula = /^[=+\-@\t\r]/

/** Returns a cell of a CSV file that no spreadsheet runs as a formula. */
export function cell(value: string | null): string {
  const text = value ?? ''
  const inert = formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}

const row = (values: readonly (string | null)[]): string => `${values.map(cell).join(',')}\r\n`

const head = (format: AuditFormat): string => (format === 'csv' ? row(columns.map(([name]) => name)) : '')

const linesOf = (format: AuditFormat, records: readonly AuditRecord[]): string =>
  records
    .map((record) => (format === 'csv' ? row(columns.map(([, of]) => of(record))) : `${plainJson(record)}\n`))
    .join('')

export interface ReadPage {
  readonly audit: readonly AuditRecord[]
  readonly has_more: boolean
  readonly next_after: string | null
}

export interface ExportPart {
  /** Text of one page of records. The first part begins with the head of the file. */
  readonly text: string
  /** Number of records so far. */
  readonly count: number
  readonly isLast: boolean
  /** Id of the last record, if this part is the last one and the audit has more records. */
  readonly cutAt: string | undefined
}

/** Reads page after page, and yields each as text, until the end of the audit or `most` records. */
export async function* auditParts(
  format: AuditFormat,
  read: (after: string | undefined) => Promise<ReadPage>,
  most = mostRecords,
): AsyncGenerator<ExportPart, void, undefined> {
  let count = 0
  for (let after: string | undefined; ; ) {
    const { audit, has_more, next_after } = await read(after)
    const taken = audit.slice(0, most - count)
    const text = `${count === 0 ? head(format) : ''}${linesOf(format, taken)}`
    count += taken.length
    const isWhole = !has_more || next_after === null || next_after === after
    const isCut = count === most && (!isWhole || taken.length < audit.length)
    const isLast = isWhole || count === most
    yield { text, count, isLast, cutAt: isCut ? taken.at(-1)?.id : undefined }
    if (isLast) return
    after = next_after
  }
}
