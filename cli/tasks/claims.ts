/**
 * The claims that commands of this profile took: which generation of which task, one small file each.
 *
 * A later command speaks for exactly the claim that was taken here, never for whatever claim the node shows: that one may
 * be another worker's.
 *
 * Contract §8, §12.
 */
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HeldTask, Task } from '../../sdk/index.ts'
import { CommandError } from '../exit-codes.ts'
import { readJson, writeJson } from '../profile/json-file.ts'

const pathOf = (folder: string, taskId: string) => join(folder, `${taskId}.json`)

/** The claim is this profile's from now on. */
export async function keepClaim(folder: string, { id, claim }: Task): Promise<void> {
  if (claim === null) return
  const { generation, session_generation } = claim
  await writeJson(pathOf(folder, id), { generation, session_generation })
}

/**
 * The same for as long as this program runs a command for it: before the command begins, and through no power cut, which
 * ends the command too.
 */
export async function lendClaim(folder: string, { id, claim }: Task): Promise<void> {
  if (claim === null) return
  const { generation, session_generation } = claim
  const path = pathOf(folder, id)
  const { makePrivateFolder } = await import('../../sdk/index.ts')
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
  throw new CommandError('conflict', `this profile holds no claim of the task ${id}`, {
    hint: `bridge task show ${id} tells its state; bridge task claim ${id} takes an open one`,
  })
}

/** The claim is over for good. */
export const dropClaim = (folder: string, id: string): Promise<void> =>
  rm(pathOf(folder, id), { force: true })
