/**
 * Local state of a sending until it is finished: a folder per sending, below a private folder.
 *
 * - `sending.json` records file, recipient, Idempotency-Key and transfer id. If the same sending starts again
 *   after an interruption, it resumes and does not offer the file twice.
 * - `root/<name>` holds the bytes to send if they are not the file itself: encrypted bytes, or a copy to
 *   serve. Encrypting again gives different bytes, and the file may change, so a resumed sending needs these.
 * - The folder's name starts with the id of the process that uses it. Another process takes over the folder
 *   of an ended one by a rename, which succeeds for one process only. The next sending removes folders that
 *   will not be resumed.
 *
 * Contract §9.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { TransferInput } from '../../contract/agent/transfers.ts'
import { limits } from '../../contract/limits.ts'
import { makePrivateFolder, writeDurably } from '../../storage/durable-file.ts'
import { parseObject } from '../../transport/answers.ts'

/** Identity of a sending. Two sendings with equal fields are the same. */
export interface Sending {
  readonly path: string
  /** Identifies the file, so that a replaced or changed file is another sending. */
  readonly file: string
  readonly recipient_agent_id: string
  /** Age recipient that the file is encrypted for; null if it is not encrypted. */
  readonly sealed_to: string | null
  readonly filename: string
  readonly mode: TransferInput['mode']
  readonly ttl_seconds: number | null
}

interface SendingRecord extends Sending {
  readonly idempotency_key: string
  readonly created_at: string
  readonly transfer_id: string | null
}

const recordName = 'sending.json'
const rootName = 'root'

/** The folders that this process uses. */
const used = new Set<string>()

export class SendingFolder {
  readonly #folder: string
  #record: SendingRecord

  private constructor(folder: string, record: SendingRecord) {
    this.#folder = folder
    this.#record = record
  }

  /** Creates the folder of a new sending. @throws LocalError `storage_failed` */
  static async begin(keep: string, sending: Sending, key: string, now: Date): Promise<SendingFolder> {
    const all = folderOf(keep)
    await makePrivateFolder(all)
    const folder = await mkdtemp(join(all, `${process.pid}-`))
    used.add(folder)
    const words = { idempotency_key: key, created_at: now.toISOString(), transfer_id: null }
    const begun = new SendingFolder(folder, { ...sending, ...words })
    await mkdir(join(folder, rootName), { mode: 0o700 })
    await begun.#write()
    return begun
  }

  /** Takes over the matching folder of an ended process, if there is one. */
  static async find(
    keep: string,
    matches: (found: SendingFolder) => boolean,
  ): Promise<SendingFolder | undefined> {
    for (const folder of await unused(keep)) {
      const record = await recordIn(folder)
      if (record === undefined || !matches(new SendingFolder(folder, record))) continue
      const taken = await take(folder)
      if (taken !== undefined) return new SendingFolder(taken, record)
    }
    return undefined
  }

  get transferId(): string | undefined {
    return this.#record.transfer_id ?? undefined
  }

  get idempotencyKey(): string {
    return this.#record.idempotency_key
  }

  /** Path of the complete bytes to send. */
  get bytes(): string {
    return join(this.#folder, rootName, this.#record.filename)
  }

  /** Path at which the bytes to send are written before they are complete. */
  get draft(): string {
    return join(this.#folder, 'draft')
  }

  isOf(sending: Sending): boolean {
    return (Object.keys(sending) as (keyof Sending)[]).every((name) => sending[name] === this.#record[name])
  }

  isForgotten(now: Date): boolean {
    return isForgotten(this.#record, now)
  }

  async clearDraft(): Promise<void> {
    await rm(this.draft, { force: true })
  }

  async keepDraft(): Promise<void> {
    await rename(this.draft, this.bytes)
  }

  async offered(transferId: string): Promise<void> {
    this.#record = { ...this.#record, transfer_id: transferId }
    await this.#write()
  }

  async removeBytes(): Promise<void> {
    await rm(join(this.#folder, rootName), { recursive: true, force: true })
  }

  /** Releases the folder, so that another run can resume the sending. */
  release(): void {
    used.delete(this.#folder)
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true })
    this.release()
  }

  async #write(): Promise<void> {
    await writeDurably(join(this.#folder, recordName), JSON.stringify(this.#record))
  }
}

/** Record of a sending that no process is using. */
export type Abandoned = Pick<SendingRecord, 'path' | 'created_at' | 'transfer_id'>

/**
 * Removes abandoned sendings for which `isGone` returns true. One that another process takes over meanwhile
 * stays.
 */
export async function tidySendings(
  keep: string,
  isGone: (abandoned: Abandoned | undefined) => Promise<boolean>,
): Promise<void> {
  for (const folder of await unused(keep)) {
    if (!(await isGone(await recordIn(folder)))) continue
    const taken = await take(folder)
    if (taken === undefined) continue
    await rm(taken, { recursive: true, force: true })
    used.delete(taken)
  }
}

/** Returns true if the sending is older than any transfer and any stored answer can be. */
export const isForgotten = ({ created_at }: Abandoned, now: Date): boolean =>
  now.getTime() - Date.parse(created_at) > limits.transferTtlSeconds.max * 1000

const folderOf = (keep: string): string => join(keep, 'sending')

/** The folders that no process uses. */
async function unused(keep: string): Promise<string[]> {
  const names = await readdir(folderOf(keep)).catch(() => [])
  return names
    .map((name) => join(folderOf(keep), name))
    .filter((folder) => {
      const pid = Number(/^\d+/.exec(basename(folder))?.[0] ?? 0)
      return pid === process.pid ? !used.has(folder) : !isRunning(pid)
    })
}

function isRunning(pid: number): boolean {
  if (pid === 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Renames a folder to this process. Returns undefined if another process took it. */
async function take(folder: string): Promise<string | undefined> {
  const mine = folder.replace(/[^/\\]*$/, (name) => name.replace(/^\d*/, String(process.pid)))
  if (used.has(mine)) return undefined
  used.add(mine)
  try {
    await rename(folder, mine)
    return mine
  } catch {
    used.delete(mine)
    return undefined
  }
}

async function recordIn(folder: string): Promise<SendingRecord | undefined> {
  const record = parseObject(await readFile(join(folder, recordName), 'utf8').catch(() => ''))
  return typeof record?.idempotency_key === 'string' && typeof record.created_at === 'string'
    ? (record as unknown as SendingRecord)
    : undefined
}
