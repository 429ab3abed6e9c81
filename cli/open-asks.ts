/**
 * Which questions of a profile an `ask` waits for right now, so that a `listen` beside it leaves the answer to it.
 *
 * A file named by the question, locked by the process that asks: its death lets go, and a file that nobody locks means
 * nothing.
 *
 * Contract §12 "prints each once".
 */
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Message } from '../sdk/index.ts'
import { takeLock } from './lock.ts'

/** While `wait` runs, the answer to this question belongs to it. */
export async function awaiting<T>(folder: string, questionId: string, wait: () => Promise<T>): Promise<T> {
  const { makePrivateFolder } = await import('../sdk/index.ts')
  await makePrivateFolder(folder)
  const path = pathOf(folder, questionId)
  // Undefined: another `ask --resume` waits for the same answer; either may tell it.
  const lock = await takeLock(path)
  try {
    return await wait()
  } finally {
    if (lock !== undefined) {
      await rm(path, { force: true })
      lock.release()
    }
  }
}

/** Whether the message answers a question whose `ask` is still there. */
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
