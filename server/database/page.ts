/**
 * One page of a list in the order of the ids, or against it. The query reads one row more than the limit to see
 * whether more follow. Contract §1 "Lists", §10.
 */
import { limits } from '../../sdk/contract/limits.ts'
import type { ListOrder } from '../../sdk/contract/primitives.ts'

export interface PageQuery {
  readonly after?: string | undefined
  readonly limit?: number | undefined
  /** Only lists of the owner have it. */
  readonly order?: ListOrder | undefined
}

/** Conditions of a page's query: `where id <follows> <from> order by id <direction>`. */
export interface Place {
  readonly follows: '>' | '<'
  readonly from: string
  readonly direction: 'asc' | 'desc'
}

export const placeOf = ({ after, order }: Pick<PageQuery, 'after' | 'order'>): Place =>
  order === 'newest_first'
    ? { follows: '<', from: after ?? afterAll, direction: 'desc' }
    : { follows: '>', from: after ?? beforeAll, direction: 'asc' }

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
