/**
 * Journal of received messages: one JSON line per message, durable before the message is printed.
 *
 * States of a message:
 * - Recorded: its line is synced. It is not printed yet. If the process dies here, the next run prints it.
 * - Printed: it was written to the output. The mark is written afterwards and not synced, so after a power
 *   cut the message may be printed twice.
 * - Done: its `--exec` command has finished. Only the runner of `--exec` uses this mark.
 *
 * - The journal remembers the last 20,000 ids, twice what an inbox holds, to recognise redeliveries.
 * - At 16 MiB the file is renamed to `.old` and a new one starts with the remembered ids. So there are at
 *   most two files. If the process was killed in between, or the disk was full, `.old` still has the ids.
 * - Only the holder of the listen lock rotates. Other processes only append. The holder reads their lines in
 *   `catchUp` and before it rotates. They detect that their file was rotated away.
 * - A line that a power cut left incomplete is skipped.
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

/** Mark on a recorded message. */
type Mark = 'printed' | 'done'

/** Path and clock of a journal. */
export interface JournalOptions {
  readonly path: string
  readonly clock: () => Date
  readonly bounds?: JournalBounds | undefined
  /** False if another process may have the journal open: this one then only appends. True by default. */
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
  /** True if the file has the ids of the files before it. */
  #hasRemembered = false
  /** Bytes of the file that were read, always whole lines. */
  #readBytes = 0

  private constructor({ path, clock, bounds, rotates }: JournalOptions, file: FileHandle) {
    this.#path = path
    this.#clock = clock
    this.#bounds = bounds ?? defaultBounds
    this.#rotates = rotates ?? true
    this.#file = file
  }

  /** Opens the file for appending and reads it. @throws LocalError `storage_failed` */
  static async open(options: JournalOptions): Promise<Journal> {
    const { path } = options
    try {
      await makePrivateFolder(dirname(path))
      const journal = new Journal(options, await open(path, 'a+', 0o600))
      await journal.#begin()
      if (!journal.#hasRemembered) await journal.#recall()
      return journal
    } catch (error) {
      throw storageFailed(path, error)
    }
  }

  /** Returns true if the message is recorded. */
  has(id: string): boolean {
    return this.#recorded.has(id)
  }

  /** Returns true if the message is marked done. */
  isDone(id: string): boolean {
    return this.#marked.done.has(id)
  }

  /** Returns true if the message is marked printed. */
  isPrinted(id: string): boolean {
    return this.#marked.printed.has(id)
  }

  /** Ids that are recorded but neither printed nor done, because their process ended in between. */
  get unprinted(): string[] {
    return [...this.#recorded].filter((id) => !this.isPrinted(id) && !this.isDone(id))
  }

  /** True if the next append rotates the file. */
  get isFull(): boolean {
    return this.#readBytes >= this.#bounds.rotateBytes
  }

  /** Reads the lines that other processes appended since. @throws LocalError `storage_failed` */
  async catchUp(): Promise<void> {
    try {
      await this.#readOn()
    } catch (error) {
      throw storageFailed(this.#path, error)
    }
  }

  /** Records messages. They are durable when it returns. */
  async record(messages: readonly Message[]): Promise<void> {
    const recorded_at = this.#clock().toISOString()
    await this.#append(messages.map((message) => ({ kind: 'message', recorded_at, message })))
  }

  /** Marks messages as done, durably. */
  async recordDone(ids: readonly string[]): Promise<void> {
    await this.#append([{ kind: 'done', ids }])
  }

  /**
   * Marks messages as printed. The mark survives a killed process, but not a power cut: then they are printed
   * again.
   */
  async recordPrinted(ids: readonly string[]): Promise<void> {
    await this.#append([{ kind: 'printed', ids }], { synced: false })
  }

  /** Starts a new file. Call it only if no other process rotates: see {@link JournalOptions.rotates}. */
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
      // The lines went to a file that was rotated away meanwhile. The rotation may have missed them, so they are written again.
      while (!this.#rotates && !(await this.#isCurrent())) {
        await this.#reopen()
        await this.#write(lines, synced)
      }
      // Ids are remembered from the file, once each and in the order in which all processes wrote them.
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
    // Read after the rename: a process that appends from now on detects that the file was rotated away.
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

  /** Remembers what `.old` has, before all that the file has: a rotation was cut short, or there was none yet. */
  async #recall(): Promise<void> {
    const sets = [this.#recorded, this.#marked.printed, this.#marked.done]
    const later = sets.map((set) => [...set])
    for (const set of sets) set.clear()
    for (const line of linesOf(await readText(`${this.#path}.old`))) this.#remember(line)
    for (const [index, set] of sets.entries()) this.#keep(set, later[index] ?? [])
  }

  /** Ends an incomplete last line, so that it does not merge with the next one. */
  async #untorn(): Promise<void> {
    if (await this.#readOn()) await this.#file.appendFile('\n')
  }

  /** Reads the new whole lines of the file. Returns true if an incomplete line remains. */
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

  /** Returns true if the open file is still the one at the path. */
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
      this.#hasRemembered = true
      this.#keep(this.#recorded, line.ids)
      this.#keep(this.#marked.printed, line.printed)
      this.#keep(this.#marked.done, line.done)
    }
  }

  /** Adds ids and drops the oldest. A Set keeps the order of insertion. */
  #keep(set: Set<string>, ids: readonly string[]): void {
    for (const id of ids) set.add(id)
    for (const id of set) {
      if (set.size <= this.#bounds.rememberedIds) return
      set.delete(id)
    }
  }
}

/** Finds a recorded message in the journal or its `.old` file. */
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
      // A power cut left the line incomplete. It was not synced yet, so its message was not printed either.
      return []
    }
  })
}
