/**
 * The journal of a profile, for a command that adds to it beside a `listen`.
 *
 * Only the holder of the listen lock rotates it, so this takes the lock when the journal is full and nobody listens: a
 * profile that only asks must not let it grow for ever.
 *
 * Contract §12.
 */
import type { Journal } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'
import { takeLock } from '../lock.ts'
import type { Agent } from './agent.ts'

export async function openJournal({ clock }: CliContext, { paths }: Agent): Promise<Journal> {
  const { Journal: Opened } = await import('../../sdk/index.ts')
  const journal = await Opened.open({ path: paths.journal, clock, rotates: false })
  const lock = journal.isFull ? await takeLock(paths.lock) : undefined
  try {
    if (lock !== undefined) await journal.rotate()
  } finally {
    lock?.release()
  }
  return journal
}
