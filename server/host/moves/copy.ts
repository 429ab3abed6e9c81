/** Copies all rows into an empty database, and compares both sides. */
import { CopyDiffersError } from '../../database/moved.ts'
import {
  type Columns,
  type CopiedTable,
  columnsOf,
  copiedTables,
  type Digest,
  RowDigest,
  type Rows,
  type RowsTarget,
} from '../../database/row-copy.ts'

export interface MoveProgress {
  readonly signal: AbortSignal
  /** Called after each page: rows that were copied, and rows that there are. */
  readonly onProgress: (done: number, total: number) => void
  /** Called before each step of the move. Tables are steps under their names. */
  readonly onStep?: (step: string) => void
}

export interface CopiedRows extends Digest {
  readonly table: string
}

export interface Copy extends MoveProgress {
  readonly source: Rows
  readonly target: RowsTarget
  readonly columns: Columns
}

/** @throws CopyDiffersError, the reason of the signal, and errors of either database */
export async function copyRows(copy: Copy): Promise<CopiedRows[]> {
  const { source, signal, onProgress, onStep = () => {} } = copy
  let total = 0
  for (const table of copiedTables) total += await source.count(table)
  let done = 0
  const copied: CopiedRows[] = []
  for (const table of copiedTables) {
    onStep(table.name)
    const sent = await copyTable(copy, table, (rows) => {
      signal.throwIfAborted()
      done += rows
      onProgress(done, total)
    })
    const arrived = await digestOf(copy.target, copy, table)
    if (sent.rows !== arrived.rows || sent.sha256 !== arrived.sha256) {
      throw new CopyDiffersError(
        `${table.name}: ${arrived.rows} rows with sha256 ${arrived.sha256} arrived in place of ${sent.rows} with ${sent.sha256}`,
      )
    }
    copied.push({ table: table.name, ...arrived })
  }
  return copied
}

/** Returns the digest of the source. Reads a page while the target stores the one before. */
async function copyTable(
  { source, target, columns }: Copy,
  table: CopiedTable,
  onPage: (rows: number) => void,
): Promise<Digest> {
  const digest = new RowDigest(columnsOf(columns, table))
  let storing: Promise<unknown> = Promise.resolve()
  for await (const rows of source.pages(table, table.byArrival ? 'arrival' : 'key')) {
    const stored = target.insert(table, rows)
    // A failure is thrown below, after this page was read.
    stored.catch(() => {})
    digest.add(rows)
    await storing
    storing = stored
    onPage(rows.length)
  }
  await storing
  return table.byArrival ? digestOf(source, { columns }, table) : digest.end()
}

async function digestOf(side: Rows, { columns }: Pick<Copy, 'columns'>, table: CopiedTable): Promise<Digest> {
  const digest = new RowDigest(columnsOf(columns, table))
  for await (const rows of side.pages(table, 'key')) digest.add(rows)
  return digest.end()
}
