/**
 * Where files are being received on this machine: what a receiver that was killed leaves lies beside the destination, which
 * nobody but it knows.
 *
 * A note for each, in a private folder, from before the first byte until the last is gone. By it the next command finds what
 * is left of a transfer that is over, and knows the file again that has been given its name: what was sealed does not tell.
 *
 * Contract §9, cleanup.
 */
import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { makePrivateFolder, writeDurably } from '../../storage/durable-file.ts'
import { parseObject } from '../../transport/answers.ts'

/** Where the bytes wait until they are verified: beside the destination, on its file system. */
const stagingOf = (destination: string, transferId: string): string =>
  join(dirname(destination), stagingName(transferId))

/** Two dots in a row: no file of a transfer has such a name. */
const stagingName = (transferId: string): string => `.bridge-receive..${transferId}`

const folderOf = (keep: string): string => join(keep, 'receiving')

const noteOf = (keep: string, transferId: string, staging: string): string =>
  join(
    folderOf(keep),
    `${transferId}.${createHash('sha256').update(staging).digest('hex').slice(0, 16)}.json`,
  )

/** One file that is being received. */
export class ReceivingNote {
  readonly staging: string
  readonly #note: string | undefined

  constructor(transferId: string, destination: string, keep: string | undefined) {
    this.staging = stagingOf(destination, transferId)
    this.#note = keep === undefined ? undefined : noteOf(keep, transferId, this.staging)
  }

  /** Before anything is staged. @throws LocalError `storage_failed` */
  async begin(): Promise<void> {
    if (this.#note !== undefined) await makePrivateFolder(dirname(this.#note))
    await this.#write({ staging: this.staging })
  }

  /** The file that is verified has its name. */
  async published(file: Identity): Promise<void> {
    await this.#write({ staging: this.staging, file: textOf(file) })
  }

  /** Whether it is the file that an earlier run published. */
  async hasPublished(file: Identity): Promise<boolean> {
    return this.#note !== undefined && (await noted(this.#note)).file === textOf(file)
  }

  async removeBytes(): Promise<void> {
    await rm(this.staging, { recursive: true, force: true })
  }

  /** Last: there is nothing left to know of. */
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

/** Removes what is left of transfers that `isOver` says are over. */
export async function tidyReceivings(
  keep: string,
  isOver: (transferId: string) => Promise<boolean>,
): Promise<void> {
  for (const name of await readdir(folderOf(keep)).catch(() => [])) {
    const transferId = /^([0-9a-f-]{36})\./.exec(name)?.[1]
    if (transferId === undefined || !(await isOver(transferId))) continue
    const note = join(folderOf(keep), name)
    const { staging } = await noted(note)
    // Only what is named as we name it: the note is a file like any other.
    if (typeof staging === 'string' && basename(staging) === stagingName(transferId))
      await rm(staging, { recursive: true, force: true })
    await rm(note, { force: true })
  }
}
