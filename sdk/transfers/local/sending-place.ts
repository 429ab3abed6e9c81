/**
 * What a sending leaves on its machine until it is done: a folder of its own below a private one.
 *
 * - `sending.json` says what is offered to whom, under which Idempotency-Key, and as which transfer: the same sending, begun
 *   again after whatever ended it, goes on and offers nothing twice.
 * - `root/<name>` holds the bytes that travel where they are not the file itself: sealed, or served from here. Sealing again
 *   gives other bytes, and the file may change, so a sending that goes on needs these.
 * - A folder is named by the process that uses it. That of a process which ended is taken over by a rename, so that one
 *   process takes it; what nobody goes on with is removed by the next sending.
 *
 * Contract §9.
 */
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { TransferInput } from '../../contract/agent/transfers.ts'
import { limits } from '../../contract/limits.ts'
import { makePrivateFolder, writeDurably } from '../../storage/durable-file.ts'
import { parseObject } from '../../transport/answers.ts'

/** Two sendings that agree in all of it are the same. */
export interface Sending {
  readonly path: string
  /** Tells the file from one that was put in its place, or changed. */
  readonly file: string
  readonly recipient_agent_id: string
  /** The age recipient that it is sealed to. */
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

export class SendingPlace {
  readonly #folder: string
  #record: SendingRecord

  private constructor(folder: string, record: SendingRecord) {
    this.#folder = folder
    this.#record = record
  }

  /** A new one. @throws LocalError `storage_failed` */
  static async begin(keep: string, sending: Sending, key: string, now: Date): Promise<SendingPlace> {
    const all = folderOf(keep)
    await makePrivateFolder(all)
    const folder = await mkdtemp(join(all, `${process.pid}-`))
    used.add(folder)
    const words = { idempotency_key: key, created_at: now.toISOString(), transfer_id: null }
    const place = new SendingPlace(folder, { ...sending, ...words })
    await mkdir(join(folder, rootName), { mode: 0o700 })
    await place.#write()
    return place
  }

  /** The one of an earlier process that matches, for this process to go on with. */
  static async find(
    keep: string,
    matches: (place: SendingPlace) => boolean,
  ): Promise<SendingPlace | undefined> {
    for (const folder of await unused(keep)) {
      const record = await recordIn(folder)
      if (record === undefined || !matches(new SendingPlace(folder, record))) continue
      const taken = await take(folder)
      if (taken !== undefined) return new SendingPlace(taken, record)
    }
    return undefined
  }

  get transferId(): string | undefined {
    return this.#record.transfer_id ?? undefined
  }

  get idempotencyKey(): string {
    return this.#record.idempotency_key
  }

  /** Where the bytes that travel lie once they are whole. */
  get bytes(): string {
    return join(this.#folder, rootName, this.#record.filename)
  }

  /** Where they are made. */
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

  /** Another run may go on with it. */
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

/** What is known of a sending that no process is at; nothing where it broke off before it was written down. */
export type Abandoned = Pick<SendingRecord, 'path' | 'created_at' | 'transfer_id'>

/** Removes those that nobody goes on with. One that is taken up meanwhile stays. */
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

/** No transfer, and no stored answer of its offer, is that old. */
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

/** The folder under the name of this process; undefined when another took it. */
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
