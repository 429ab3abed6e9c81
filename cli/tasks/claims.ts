/**
 * Claims that commands of this profile took. Each is a small file with the generation of the claim.
 *
 * A later command acts for exactly this claim. The claim that the node shows may belong to another worker.
 *
 * Contract §8, §12.
 */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HeldTask, Task } from '../../sdk/index.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from '../profile/json-file.ts'

const pathOf = (folder: string, taskId: string) => join(folder, `${taskId}.json`)

/** Stores the claim, so that later commands of this profile act for it. */
export async function keepClaim(folder: string, { id, claim }: Task): Promise<void> {
  if (claim === null) return
  const { generation, session_generation } = claim
  await writeJson(pathOf(folder, id), { generation, session_generation })
}

/**
 * Stores the claim for a command that this program is about to run. The file is not synced, because a power
 * cut ends the command too.
 */
export async function lendClaim(folder: string, { id, claim }: Task): Promise<void> {
  if (claim === null) return
  const { generation, session_generation } = claim
  const path = pathOf(folder, id)
  const { makePrivateFolder } = await import('../../sdk/program.ts')
  await makePrivateFolder(folder)
  try {
    await writeFile(`${path}.tmp`, JSON.stringify({ generation, session_generation }), { mode: 0o600 })
    await rename(`${path}.tmp`, path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new CommandError('unexpected', `cannot write ${path} (${code ?? String(cause)})`, { cause })
  }
}

/** @throws CommandError when no command of this profile claimed the task. */
export async function findClaim(folder: string, id: string): Promise<HeldTask> {
  const stored = await readJson(pathOf(folder, id), 'unexpected')
  const { generation, session_generation } = stored ?? {}
  if (typeof generation === 'number' && typeof session_generation === 'number') {
    return { id, claim: { generation, session_generation } }
  }
  throw new CommandError('conflict', `this profile has no claim on task ${id}`, {
    hint: `bridge task show ${id} shows its state; bridge task claim ${id} claims it if it is open`,
  })
}

/** Deletes the stored claim after it has ended. */
export const dropClaim = (folder: string, id: string): Promise<void> =>
  rm(pathOf(folder, id), { force: true })
