/** The audit as a file: JSON lines as the node gives them, or CSV for a spreadsheet. */

import type { AuditRecord } from '../../../../../sdk/browser.ts'
import { plainJson } from '../../../../../sdk/browser.ts'

export type Format = 'jsonl' | 'csv'

/** A file has this many records at most. */
export const mostRecords = 100_000

export const types: Readonly<Record<Format, string>> = {
  jsonl: 'application/jsonl',
  csv: 'text/csv;charset=utf-8',
}

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

export function cell(value: string | null): string {
  const text = value ?? ''
  const inert = formula.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}

const row = (values: readonly (string | null)[]): string => `${values.map(cell).join(',')}\r\n`

export const head = (format: Format): string => (format === 'csv' ? row(columns.map(([name]) => name)) : '')

export const linesOf = (format: Format, records: readonly AuditRecord[]): string =>
  records
    .map((record) =>
      format === 'csv' ? row(columns.map(([, of]) => of(record))) : `${JSON.stringify(record)}\n`,
    )
    .join('')

export interface ReadPage {
  readonly audit: readonly AuditRecord[]
  readonly has_more: boolean
  readonly next_after: string | null
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
  format: Format,
  read: (after: string | undefined) => Promise<ReadPage>,
  counted: (count: number) => void,
  most = mostRecords,
): Promise<Exported> {
  const texts = [head(format)]
  let count = 0
  for (let after: string | undefined; ; ) {
    const { audit, has_more, next_after } = await read(after)
    const taken = audit.slice(0, most - count)
    texts.push(linesOf(format, taken))
    count += taken.length
    counted(count)
    const isWhole = !has_more || next_after === null || next_after === after
    if (count === most || isWhole) return { texts, count, isCut: !isWhole || taken.length < audit.length }
    after = next_after
  }
}
