/** Findings of an examination of an installation. */
import { leftFor, type Moved } from '../database/moved.ts'

export interface Examined {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  readonly remedy?: string
  readonly exit?: 'usage' | 'not_found' | 'integrity' | 'conflict' | 'unexpected'
}

export const ok = (check: string, text: string): Examined => ({ check, state: 'ok', text })

/** Tells if no node may start in this place, because of a move. */
export function place(moved: Moved | undefined, here: string): Examined[] {
  if (moved === undefined) return []
  const { text, remedy } =
    moved.state === 'left'
      ? { text: leftFor(moved, here).message, remedy: `use the settings of ${moved.place}` }
      : {
          text: `a move from ${moved.place} into ${here} is running or was interrupted`,
          remedy: 'run the same move again',
        }
  return [{ check: 'data folder', state: 'problem', text, remedy, exit: 'conflict' }]
}
