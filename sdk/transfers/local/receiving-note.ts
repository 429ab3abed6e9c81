/**
 * Notes on running receivings, one file each in a private folder. A killed receiver leaves its staging folder
 * beside the destination, which only the note records.
 *
 * The next command uses the note to delete leftover files of ended transfers, and to recognise a file that an
 * earlier run already published. The hash cannot identify it if the transfer was encrypted.
 *
 * Contract §9, cleanup.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makePrivateFolder, writeDurably } from '../../storage/durable-file.ts'
import { parseObject } from '../../transport/answers.ts'

/** Staging folder: beside the destination, so that it is on the same file system. */
const stagingOf = (destination: string, transferId: string): string =>
  join(dirname(destination), stagingName(transferId))

/**
 * Name of the staging folder. No transferred file can have it, since a filename may not hold two dots in a
 * row.
 */
const stagingName = (transferId: string): string => `.bridge-receive..${transferId}`

const folderOf = (keep: string): string => join(keep, 'receiving')

const noteOf = (keep: string, transferId: string, staging: string): string =>
  join(
    folderOf(keep),
    `${transferId}.${createHash('sha256').update(staging).digest('hex').slice(0, 16)}.json`,
  )

/** Note on one file that is being received. */
export class ReceivingNote {
  readonly staging: string
  readonly #note: string | undefined

  constructor(transferId: string, destination: string, keep: string | undefined) {
    this.staging = stagingOf(destination, transferId)
    this.#note = keep === undefined ? undefined : noteOf(keep, transferId, this.staging)
  }

  /** Writes the note, before anything is staged. @throws LocalError `storage_failed` */
  async begin(): Promise<void> {
    if (this.#note !== undefined) await makePrivateFolder(dirname(this.#note))
    await this.#write({ staging: this.staging })
  }

  /** Records the identity (inode, size, time) of the published file. */
  async published(file: Identity): Promise<void> {
    await this.#write({ staging: this.staging, file: textOf(file) })
  }

  /** Returns true if an earlier run published this file. */
  async hasPublished(file: Identity): Promise<boolean> {
    return this.#note !== undefined && (await noted(this.#note)).file === textOf(file)
  }

  async removeBytes(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true })
  }

  /** Deletes the note, as the last step. */
  async forget(): Promise<void> {
    if (this.#note !== undefined) await rm(this.#note, { force: true })
  }

  async #write(note: object): Promise<void> {
    if (this.#note !== undefined) await writeDurably(this.#note, JSON.stringify(note))
  }
}

type Identity = Pick<BigIntStats, 'dev' | 'ino' | 'size' | 'mtimeNs'>

const textOf = ({ dev, ino, size, mtimeNs }: Identity): string => [dev, ino, size, mtimeNs].join(':')

const noted = async (note: string): Promise<Record<string, unknown>> =>
  parseObject(await readFile(note, 'utf8').catch(() => '')) ?? {}

/** Removes the leftover files of transfers for which `isOver` returns true. */
export async function tidyReceivings(
  keep: string,
  isOver: (transferId: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await readdir(folderOf(keep)).catch(() => [])) {
    const transferId = /^([0-9a-f-]{36})\./.exec(name)?.[1]
    if (transferId === undefined || !(await isOver(transferId))) continue
    const note = join(folderOf(keep), name)
    const { staging } = await noted(note)
    // The note may have been changed, so only a folder with our name is removed.
    if (typeof staging === 'string' && basename(staging) === stagingName(transferId))
      await rm(staging, { recursive: true, force: true })
    await rm(note, { force: true })
  }
}
