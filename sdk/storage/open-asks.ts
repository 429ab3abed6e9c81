/**
 * Open questions of a profile: a `listen` beside an `ask` leaves the answer to the `ask`.
 *
 * Each has a lock file named by the question's id, held by the asking process. The lock ends with that
 * process. A file without a holder means nothing.
 *
 * Contract §12 "prints each once".
 */
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Message } from '../contract/agent/messages.ts'
import { takeLock } from './lock.ts'

/**
 * Reserves the answer to a question for this process until the returned function is called. The folder must
 * exist.
 */
export async function holdAnswer(folder: string, questionId: string): Promise<() => Promise<void>> {
  const path = pathOf(folder, questionId)
  // Undefined if another process waits for the same answer. Then both get it.
  const lock = await takeLock(path)
  return async () => {
    if (lock === undefined) return
    await rm(path, { force: true })
    lock.release()
  }
}

/** Returns true if the message answers a question whose asking process is still running. */
export async function isAwaited(folder: string, { in_reply_to: questionId }: Message): Promise<boolean> {
  // The id becomes a file name.
  if (questionId === null || !/^[0-9a-f-]{36}$/.test(questionId)) return false
  const path = pathOf(folder, questionId)
  if (!(await isThere(path))) return false
  const lock = await takeLock(path)
  if (lock === undefined) return true
  await rm(path, { force: true })
  lock.release()
  return false
}

const pathOf = (folder: string, questionId: string): string => join(folder, `${questionId}.lock`)

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
