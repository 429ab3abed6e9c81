/**
 * One page of a list in id order. The query reads one row more than the limit to see whether more follow.
 * Contract §1 "Lists".
 */
import { limits } from '../../sdk/contract/limits.ts'

export interface PageQuery {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export interface Page<T> {
  readonly items: T[]
  readonly has_more: boolean
  readonly next_after: string | null
}

/**
 * Makes a page from up to `limit + 1` rows. If the page is empty, `next_after` repeats the cursor.
 *
 * The items of a page take at most `limits.pageBytes` bytes of JSON, because a row may hold long texts. The
 * first item is always included.
 */
export function toPage<R extends { id: string }, T>(
  rows: readonly R[],
  limit: number,
  after: string | undefined,
  item: (row: R) => T,
): Page<T> {
  const items: T[] = []
  let bytes = 0
  for (const row of rows.slice(0, limit)) {
    const next = item(row)
    bytes += Buffer.byteLength(JSON.stringify(next))
    if (items.length > 0 && bytes > limits.pageBytes) break
    items.push(next)
  }
  return {
    items,
    has_more: rows.length > items.length,
    next_after: rows[items.length - 1]?.id ?? after ?? null,
  }
}

/** The lowest possible id. `id > beforeAll` matches the first page. */
export const beforeAll = '00000000-0000-0000-0000-000000000000'

/** Greater than any id. */
export const afterAll = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
