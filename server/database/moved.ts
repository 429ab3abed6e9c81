/**
 * The record of a move, by which an installation is never served from two databases.
 *
 * 1. One transaction writes all rows into the target, with a record that they have arrived.
 * 2. The source records that the installation has left. No node starts there from then on.
 * 3. The record of the target is removed. A node starts there from then on.
 *
 * If the process is killed before step 2, the source serves as before, and a new move replaces the rows of
 * the target. If it is killed after step 2, the same move run again, or the start of the node, does step 3.
 */
import type { MovedRow } from './node-tables.ts'

export type Moved = Pick<MovedRow, 'state' | 'move_id' | 'place' | 'at'>

/** The installation is in another database now. */
export class MovedError extends Error {
  override readonly name = 'MovedError'
}

/** A move into this place was interrupted. */
export class MoveUnfinishedError extends Error {
  override readonly name = 'MoveUnfinishedError'
}

/** The target of a move holds something. Nothing was changed. */
export class TargetNotEmptyError extends Error {
  override readonly name = 'TargetNotEmptyError'
}

/** The rows in the target differ from those in the source. The source was not changed. */
export class CopyDiffersError extends Error {
  override readonly name = 'CopyDiffersError'
}

/** Refuses a database from which the installation has left, or in which a move has not ended. */
export function requireHere(moved: Moved | undefined, here: string): void {
  if (moved === undefined) return
  if (moved.state === 'left') throw leftFor(moved, here)
  throw new MoveUnfinishedError(`a move from ${moved.place} into ${here} was interrupted`)
}

export const leftFor = ({ place, at }: Moved, here: string): MovedError =>
  new MovedError(`the installation in ${here} was moved to ${place} at ${at}`)

/** Returns the URL of a database as people may see it, without password and options. */
export function shownUrl(url: string): string {
  const shown = new URL(url)
  shown.password = ''
  const host = shown.searchParams.get('host')
  shown.search = host === null ? '' : `?host=${host}`
  return shown.href
}
