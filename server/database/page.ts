/** One page of a list in id order: one row more than asked tells whether there is more. Contract §1 "Lists". */

export interface PageQuery {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

export interface Page<T> {
  readonly items: T[]
  readonly has_more: boolean
  readonly next_after: string | null
}

/** `rows` holds up to `limit + 1` rows. An empty page echoes the cursor. */
export function toPage<R extends { id: string }, T>(
  rows: readonly R[],
  limit: number,
  after: string | undefined,
  item: (row: R) => T,
): Page<T> {
  const shown = rows.slice(0, limit)
  return {
    items: shown.map(item),
    has_more: rows.length > limit,
    next_after: shown.at(-1)?.id ?? after ?? null,
  }
}

/** The lowest possible id: `id > first` is the first page. */
export const beforeAll = '00000000-0000-0000-0000-000000000000'
