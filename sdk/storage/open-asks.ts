/**
 * Which questions of a profile somebody waits for right now, so that a `listen` beside it leaves the answer
 * to them.
 *
 * A file named by the question, locked by the process that asks: its death lets go, and a file that nobody
 * locks means nothing.
 *
 * Contract §12 "prints each once".
 */
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Message } from '../contract/agent/messages.ts'
import { takeLock } from './lock.ts'

/**
 * The answer to this question belongs to this process until the returned function is called. The folder is
 * there.
 */
export async function holdAnswer(folder: string, questionId: string): Promise<() => Promise<void>> {
  const path = pathOf(folder, questionId)
  // Undefined while another process waits for the same answer. Either may tell it.
  const lock = await takeLock(path)
  return async () => {
    if (lock === undefined) return
    await rm(path, { force: true })
    lock.release()
  }
}

/** Whether the message answers a question whose asker is still there. */
export async function isAwaited(folder: string, { in_reply_to: questionId }: Message): Promise<boolean> {
  // It becomes a file name.
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
