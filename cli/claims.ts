/**
 * The claims that commands of this profile took: which generation of which task, one small file each.
 *
 * A later command speaks for exactly the claim that was taken here, never for whatever claim the node shows: that one may
 * be another worker's.
 *
 * Contract §8, §12.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { HeldTask, Task } from '../sdk/index.ts'
import { CommandFailure } from './exit-codes.ts'
import { readJson, writeJson } from './json-file.ts'

const pathOf = (folder: string, taskId: string) => join(folder, `${taskId}.json`)

/** The claim is this profile's from now on. */
export async function keepClaim(folder: string, { id, claim }: Task): Promise<void> {
  if (claim === null) return
  const { generation, session_generation } = claim
  await writeJson(pathOf(folder, id), { generation, session_generation })
}

/** @throws CommandFailure when no command of this profile claimed the task. */
export async function findClaim(folder: string, id: string): Promise<HeldTask> {
  const stored = await readJson(pathOf(folder, id), 'unexpected')
  const { generation, session_generation } = stored ?? {}
  if (typeof generation === 'number' && typeof session_generation === 'number') {
    return { id, claim: { generation, session_generation } }
  }
  throw new CommandFailure('conflict', `this profile holds no claim of the task ${id}`, {
    hint: `bridge task claim ${id} takes it`,
  })
}

/** The claim is over for good. */
export const dropClaim = (folder: string, id: string): Promise<void> =>
  rm(pathOf(folder, id), { force: true })
