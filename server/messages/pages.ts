/**
 * A page of history in ascending order; `retention_gap` is set if retention deleted messages of the requested
 * range. A page ends early if its bytes exceed the limit.
 *
 * `next_sequence` is the next `after_sequence`. When reading backwards it is the lowest sequence returned, to
 * be used as the next `before_sequence`. An empty page repeats the cursor.
 *
 * Spec §4.2; contract §1 "Lists".
 */
import type { MessagePage } from '../../sdk/contract/agent/conversations.ts'
import { limits } from '../../sdk/contract/limits.ts'
import type { MessageRow } from '../database/tables.ts'
import { toMessage } from './store.ts'

export interface PageShape {
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly limit: number
  /** Sequence up to which messages were deleted; 0 if none were. */
  readonly removedThrough: number
}

/** Builds a page from up to `limit + 1` rows in ascending order. */
export function toMessagePage(rows: readonly MessageRow[], shape: PageShape): MessagePage {
  const forward = shape.after !== undefined
  const shown = forward
    ? fitting(rows.slice(0, shape.limit), limits.pageBytes)
    : fitting(rows.slice(-shape.limit).reverse(), limits.pageBytes).reverse()
  const edge = forward ? shown.at(-1) : shown.at(0)
  return {
    messages: shown.map(toMessage),
    has_more: rows.length > shown.length,
    next_sequence: edge?.sequence ?? shape.after ?? shape.before ?? 0,
    ...(touchesGap(shape) && { retention_gap: { removed_through_sequence: shape.removedThrough } }),
  }
}

/** The first rows that fit in `bytes`; at least one. */
export function fitting(rows: readonly MessageRow[], bytes = Number.POSITIVE_INFINITY): MessageRow[] {
  let sum = 0
  const end = rows.findIndex((row, index) => {
    sum += jsonBytes(row.body) + 1024
    return index > 0 && sum > bytes
  })
  return rows.slice(0, end < 0 ? rows.length : end)
}

/** Size of a body in JSON, which may be several times larger: a control character takes six bytes. */
const jsonBytes = (body: string): number => Buffer.byteLength(JSON.stringify(body))

/** Whether deleted messages would belong to the requested range. */
function touchesGap({ after, removedThrough }: PageShape): boolean {
  if (removedThrough === 0) return false
  return after === undefined || after < removedThrough
}
