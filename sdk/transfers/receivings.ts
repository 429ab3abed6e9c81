/**
 * Where files are being received on this machine: what a receiver that was killed leaves lies beside the destination, which
 * nobody but it knows.
 *
 * A note for each, in a private folder, from before the first byte until the last is gone. By it the next command finds what
 * is left of a transfer that is over.
 *
 * Contract §9, cleanup.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makePrivateFolder, writeDurably } from '../durable-file.ts'
import { parseObject } from '../transport/answers.ts'

/** Where the bytes wait until they are verified: beside the destination, on its file system. */
export const stagingOf = (destination: string, transferId: string): string =>
  join(dirname(destination), stagingName(transferId))

const stagingName = (transferId: string): string => `.bridge-receive-${transferId}`

const folderOf = (keep: string): string => join(keep, 'receiving')

const noteOf = (keep: string, transferId: string, staging: string): string =>
  join(
    folderOf(keep),
    `${transferId}.${createHash('sha256').update(staging).digest('hex').slice(0, 16)}.json`,
  )

/** @throws LocalError `storage_failed` */
export async function noteReceiving(
  keep: string | undefined,
  transferId: string,
  staging: string,
): Promise<void> {
  if (keep === undefined) return
  await makePrivateFolder(folderOf(keep))
  await writeDurably(noteOf(keep, transferId, staging), JSON.stringify({ staging }))
}

/** The bytes, then the note of them. */
export async function forgetReceiving(
  keep: string | undefined,
  transferId: string,
  staging: string,
): Promise<void> {
  await rm(staging, { recursive: true, force: true })
  if (keep !== undefined) await rm(noteOf(keep, transferId, staging), { force: true })
}

/** Removes what is left of transfers that `isOver` says are over. */
export async function tidyReceivings(
  keep: string,
  isOver: (transferId: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await readdir(folderOf(keep)).catch(() => [])) {
    const transferId = /^([0-9a-f-]{36})\./.exec(name)?.[1]
    if (transferId === undefined || !(await isOver(transferId))) continue
    const note = join(folderOf(keep), name)
    const staging = parseObject(await readFile(note, 'utf8').catch(() => ''))?.staging
    // Only what is named as we name it: the note is a file like any other.
    if (typeof staging === 'string' && basename(staging) === stagingName(transferId))
      await rm(staging, { recursive: true, force: true })
    await rm(note, { force: true })
  }
}
