/**
 * Messages that this machine has recorded: one line each, synced before they are shown.
 *
 * - It remembers ids, so that a redelivery is known for what it is. The newest 20,000 are kept, twice what an inbox holds.
 * - A message is `done` when what it was for has been done; only the runner of `--exec` asks for that.
 * - At 16 MiB the file becomes `.old` and a new one begins with the remembered ids; so two files bound it.
 * - A line that a power cut tore is skipped.
 *
 * Contract §12.
 */
import { type FileHandle, open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Message } from './contract/agent/messages.ts'
import { isMissing, makePrivateFolder, storageFailed, syncFolder } from './durable-file.ts'

type Line =
  | { readonly kind: 'message'; readonly recorded_at: string; readonly message: Message }
  | { readonly kind: 'done'; readonly ids: readonly string[] }
  | { readonly kind: 'remembered'; readonly ids: readonly string[]; readonly done: readonly string[] }

export interface JournalOptions {
  readonly path: string
  readonly clock: () => Date
  readonly bounds?: JournalBounds | undefined
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
  readonly #recorded = new Set<string>()
  readonly #done = new Set<string>()
  #file: FileHandle
  #bytes: number

  private constructor({ path, clock, bounds }: JournalOptions, file: FileHandle, bytes: number) {
    this.#path = path
    this.#clock = clock
    this.#bounds = bounds ?? defaultBounds
    this.#file = file
    this.#bytes = bytes
  }

  /** Read what is remembered and open the file to add to it. @throws LocalError `storage_failed` */
  static async open(options: JournalOptions): Promise<Journal> {
    const { path } = options
    try {
      await makePrivateFolder(dirname(path))
      const text = await readText(path)
      const file = await open(path, 'a', 0o600)
      // A torn last line must not swallow the next one.
      if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n')
      await syncFolder(dirname(path))
      const journal = new Journal(options, file, Buffer.byteLength(text))
      for (const line of linesOf(text)) journal.#remember(line)
      return journal
    } catch (error) {
      throw storageFailed(path, error)
    }
  }

  has(id: string): boolean {
    return this.#recorded.has(id)
  }

  isDone(id: string): boolean {
    return this.#done.has(id)
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

  async close(): Promise<void> {
    await this.#file.close()
  }

  async #append(lines: readonly Line[]): Promise<void> {
    if (lines.length === 0) return
    try {
      if (this.#bytes >= this.#bounds.rotateBytes) await this.#rotate()
      await this.#write(lines)
    } catch (error) {
      throw storageFailed(this.#path, error)
    }
    for (const line of lines) this.#remember(line)
  }

  async #write(lines: readonly Line[]): Promise<void> {
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    await this.#file.appendFile(text)
    await this.#file.datasync()
    this.#bytes += Buffer.byteLength(text)
  }

  async #rotate(): Promise<void> {
    const path = this.#path
    await this.#file.close()
    await rename(path, `${path}.old`)
    this.#file = await open(path, 'a', 0o600)
    this.#bytes = 0
    await this.#write([{ kind: 'remembered', ids: [...this.#recorded], done: [...this.#done] }])
    await syncFolder(dirname(path))
  }

  #remember(line: Line): void {
    if (line.kind === 'message') this.#keep(this.#recorded, [line.message.id])
    else if (line.kind === 'done') this.#keep(this.#done, line.ids)
    else {
      this.#keep(this.#recorded, line.ids)
      this.#keep(this.#done, line.done)
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
