/**
 * Opens the journal of a profile for a command that may run next to a `listen`.
 *
 * Only the holder of the listen lock rotates the journal. If the journal is full and no `listen` runs, this
 * command takes the lock and rotates it. Otherwise the journal of a profile that only runs `ask` would grow
 * without limit.
 *
 * Contract §12.
 */
import type { Journal } from '../../sdk/program.ts'
import type { Agent, CliContext } from '../context.ts'
import { takeLock } from './lock.ts'

export async function openJournal({ clock }: CliContext, { paths }: Agent): Promise<Journal> {
  const { Journal: Opened } = await import('../../sdk/program.ts')
  const journal = await Opened.open({ path: paths.journal, clock, rotates: false })
  const lock = journal.isFull ? await takeLock(paths.lock) : undefined
  try {
    if (lock !== undefined) await journal.rotate()
  } finally {
    lock?.release()
  }
  return journal
}
