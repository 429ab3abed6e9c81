/**
 * Messages that this machine has recorded: one line each, synced before they are shown.
 *
 * - It remembers ids, so that a redelivery is known for what it is. The newest 20,000 are kept, twice what an inbox holds.
 * - A message is `printed` once whoever reads has been handed it, which is noted after the write, so that what was cut off
 *   in between is found and printed next time. It is `done` when what it was for has been done; only the runner of
 *   `--exec` asks for that.
 * - At 16 MiB the file becomes `.old` and a new one begins with the remembered ids; so two files bound it.
 * - One process rotates, the holder of the listen lock; others that record beside it only add. It reads what they added
 *   when it is asked to, and before it rotates; they notice when the file that they added to is no longer the journal.
 * - A line that a power cut tore is skipped.
 *
 * Contract §12.
 */
import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Message } from '../contract/agent/messages.ts'
import { isMissing, makePrivateFolder, storageFailed, syncFolder } from './durable-file.ts'

type Line =
  | { readonly kind: 'message'; readonly recorded_at: string; readonly message: Message }
  | { readonly kind: 'printed' | 'done'; readonly ids: readonly string[] }
  | ({ readonly kind: 'remembered'; readonly ids: readonly string[] } & Record<Mark, readonly string[]>)

/** What can be noted of a recorded message. */
type Mark = 'printed' | 'done'

/** Where the journal lies, and how it tells the time. */
export interface JournalOptions {
  readonly path: string
  readonly clock: () => Date
  readonly bounds?: JournalBounds | undefined
  /** False beside another process that may have the journal open too: this one then only adds. True when absent. */
  readonly rotates?: boolean | undefined
}

export interface JournalBounds {
  readonly rotateBytes: number
  readonly rememberedIds: number
}

const defaultBounds: JournalBounds = { rotateBytes: 16 * 1024 * 1024, rememberedIds: 20_000 }

export class Journal {
  readonly #path: string
  readonly #clock: () => Date
  readonly #bounds: JournalBounds
  readonly #rotates: boolean
  readonly #recorded = new Set<string>()
  readonly #marked: Record<Mark, Set<string>> = { printed: new Set(), done: new Set() }
  #file: FileHandle
  /** How much of the file is remembered, whole lines. */
  #readBytes = 0

  private constructor({ path, clock, bounds, rotates }: JournalOptions, file: FileHandle) {
    this.#path = path
    this.#clock = clock
    this.#bounds = bounds ?? defaultBounds
    this.#rotates = rotates ?? true
    this.#file = file
  }

  /** Read what is remembered and open the file to add to it. @throws LocalError `storage_failed` */
  static async open(options: JournalOptions): Promise<Journal> {
    const { path } = options
    try {
      await makePrivateFolder(dirname(path))
      const journal = new Journal(options, await open(path, 'a+', 0o600))
      await journal.#begin()
      return journal
    } catch (error) {
      throw storageFailed(path, error)
    }
  }

  /** Whether the message is written down. */
  has(id: string): boolean {
    return this.#recorded.has(id)
  }

  /** Whether the message was worked on to its end. */
  isDone(id: string): boolean {
    return this.#marked.done.has(id)
  }

  /** Whether the message was shown. */
  isPrinted(id: string): boolean {
    return this.#marked.printed.has(id)
  }

  /** What was recorded and then neither printed nor done: its process ended in between. */
  get unprinted(): string[] {
    return [...this.#recorded].filter((id) => !this.isPrinted(id) && !this.isDone(id))
  }

  /** Whether it has grown so far that its next line begins a new file. */
  get isFull(): boolean {
    return this.#readBytes >= this.#bounds.rotateBytes
  }

  /** Remember what another process recorded since. @throws LocalError `storage_failed` */
  async catchUp(): Promise<void> {
    try {
      await this.#readOn()
    } catch (error) {
      throw storageFailed(this.#path, error)
    }
  }

  /** Record messages; when this returns they survive a power cut. */
  async record(messages: readonly Message[]): Promise<void> {
    const recorded_at = this.#clock().toISOString()
    await this.#append(messages.map((message) => ({ kind: 'message', recorded_at, message })))
  }

  /** What the messages were for has been done. */
  async recordDone(ids: readonly string[]): Promise<void> {
    await this.#append([{ kind: 'done', ids }])
  }

  /**
   * The messages were handed to whoever reads. This outlives the process at once; a power cut may take it, and then they
   * are printed again.
   */
  async recordPrinted(ids: readonly string[]): Promise<void> {
    await this.#append([{ kind: 'printed', ids }], { synced: false })
  }

  /** Begin a new file. Only while no other process may: see {@link JournalOptions.rotates}. */
  async rotate(): Promise<void> {
    try {
      await this.#rotate()
    } catch (error) {
      throw storageFailed(this.#path, error)
    }
  }

  /** Close the file. */
  async close(): Promise<void> {
    await this.#file.close()
  }

  async #append(lines: readonly Line[], { synced } = { synced: true }): Promise<void> {
    if (lines.length === 0) return
    try {
      await this.#untorn()
      if (this.#rotates && this.isFull) await this.#rotate()
      await this.#write(lines, synced)
      // It went to a file that was rotated away: what the rotation did not see of it is recorded again.
      while (!this.#rotates && !(await this.#isCurrent())) {
        await this.#reopen()
        await this.#write(lines, synced)
      }
      // From the file, so that each line is remembered once, in the order in which all processes wrote.
      await this.#readOn()
    } catch (error) {
      throw storageFailed(this.#path, error)
    }
  }

  async #write(lines: readonly Line[], synced = true): Promise<void> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    await this.#file.appendFile(text)
    if (synced) await this.#file.datasync()
  }

  async #rotate(): Promise<void> {
    const path = this.#path
    await rename(path, `${path}.old`)
    // Only now: who adds to the file from here on finds that it is not the journal any more.
    await this.#readOn()
    await this.#reopen()
    const { printed, done } = this.#marked
    await this.#write([
      { kind: 'remembered', ids: [...this.#recorded], printed: [...printed], done: [...done] },
    ])
  }

  async #reopen(): Promise<void> {
    const before = this.#file
    this.#file = await open(this.#path, 'a+', 0o600)
    await before.close()
    this.#readBytes = 0
    await this.#begin()
  }

  async #begin(): Promise<void> {
    await this.#untorn()
    await syncFolder(dirname(this.#path))
  }

  /** A torn last line must not swallow the next one. */
  async #untorn(): Promise<void> {
    if (await this.#readOn()) await this.#file.appendFile('\n')
  }

  /** Remember the lines that are new in the file. True when a part of a line is left. */
  async #readOn(): Promise<boolean> {
    const { size } = await this.#file.stat()
    const fresh = Buffer.alloc(Math.max(0, size - this.#readBytes))
    let length = 0
    while (length < fresh.length) {
      const { bytesRead } = await this.#file.read(
        fresh,
        length,
        fresh.length - length,
        this.#readBytes + length,
      )
      if (bytesRead === 0) break
      length += bytesRead
    }
    const whole = fresh.subarray(0, length).lastIndexOf(0x0a) + 1
    for (const line of linesOf(fresh.toString('utf8', 0, whole))) this.#remember(line)
    this.#readBytes += whole
    return whole < length
  }

  /** Whether the open file is still the one at the path. */
  async #isCurrent(): Promise<boolean> {
    try {
      const [there, mine] = await Promise.all([stat(this.#path), this.#file.stat()])
      return there.ino === mine.ino && there.dev === mine.dev
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  #remember(line: Line): void {
    if (line.kind === 'message') this.#keep(this.#recorded, [line.message.id])
    else if (line.kind !== 'remembered') this.#keep(this.#marked[line.kind], line.ids)
    else {
      this.#keep(this.#recorded, line.ids)
      this.#keep(this.#marked.printed, line.printed)
      this.#keep(this.#marked.done, line.done)
    }
  }

  /** A Set keeps the order in which ids came: the oldest go first. */
  #keep(set: Set<string>, ids: readonly string[]): void {
    for (const id of ids) set.add(id)
    for (const id of set) {
      if (set.size <= this.#bounds.rememberedIds) return
      set.delete(id)
    }
  }
}

/** The recorded message of an id, in this file or the one before it; undefined when neither holds it. */
export async function findRecorded(path: string, id: string): Promise<Message | undefined> {
  for (const file of [path, `${path}.old`]) {
    const lines = linesOf(await readText(file).catch((error) => Promise.reject(storageFailed(file, error))))
    for (const line of lines) if (line.kind === 'message' && line.message.id === id) return line.message
  }
  return undefined
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return ''
    throw error
  }
}

function linesOf(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Line]
    } catch {
      // Torn by a power cut before it was synced, so it was never shown either.
      return []
    }
  })
}
