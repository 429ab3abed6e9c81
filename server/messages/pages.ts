/**
 * A page of history, always ascending, with the gap that retention left. It ends early where its bytes grow too many.
 *
 * `next_sequence` is the next `after_sequence`; reading backward it is the lowest sequence returned, the next
 * `before_sequence`. An empty page echoes the cursor.
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
  /** 0 when nothing was removed. */
  readonly removedThrough: number
}

/** `rows` holds up to `limit + 1` rows in ascending order. */
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

/** As many of the first rows as stay within the bytes; at least one. */
export function fitting(rows: readonly MessageRow[], bytes = Number.POSITIVE_INFINITY): MessageRow[] {
  let sum = 0
  const end = rows.findIndex((row, index) => {
    sum += travelling(row.body) + 1024
    return index > 0 && sum > bytes
  })
  return rows.slice(0, end < 0 ? rows.length : end)
}

/** A control character takes six bytes in JSON, so a body may travel as several times what it is. */
const travelling = (body: string): number => Buffer.byteLength(JSON.stringify(body))

/** A page has a gap when what it asked for begins at or below what retention removed. */
function touchesGap({ after, removedThrough }: PageShape): boolean {
  if (removedThrough === 0) return false
  return after === undefined || after < removedThrough
}
