/**
 * What a client must not lose: the key and body of every mutation, on disk before the first attempt.
 *
 * An entry is one file. Its ending says who has it:
 *
 * - `.sending`: a process is at it. Left so by a process that died, it is free again after two minutes.
 * - `.kept`: the node could not be reached; the next mutation or a flush sends it, once.
 *
 * It is removed when the service answered, with a 200 or with a refusal. Idempotency records live seven days, so what
 * is older than six waits for a person.
 *
 * Contract §12.
 */
import { readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { MessageInput } from '../contract/agent/messages.ts'
import { LocalError } from '../transport/failures.ts'
import type { PreparedRequest } from '../transport/http.ts'
import { isMissing, makePrivateFolder, storageFailed, writeDurably } from './durable-file.ts'

/** A message whose recipient was not looked up. Without `to` it goes to whoever sent what it replies to. */
export interface MessageDraft extends Omit<MessageInput, 'conversation_id' | 'recipient_agent_id'> {
  readonly to?: string | undefined
}

/** A mutation as it is on disk: key, and the request or the draft of one. */
export interface OutboxEntry {
  /** Sorts by age. */
  readonly id: string
  readonly created_at: string
  /** Whose it is: nobody else's identity may send it. */
  readonly server_id: string
  readonly agent_id: string
  readonly idempotency_key: string | null
  /** Null while only a draft exists. */
  readonly request: PreparedRequest | null
  readonly draft: MessageDraft | null
}

/** Who has an entry: a process that sends it, nobody, or a person who must decide. */
export type EntryState = 'sending' | 'kept' | 'waits for you'

/** An entry with its state. */
export interface ListedEntry extends OutboxEntry {
  readonly state: EntryState
}

const staleMs = 120_000
const oldMs = 6 * 86_400_000
const idForm = /^\d{13}-[A-Za-z0-9_-]{8}$/
const name = /^(\d{13}-[A-Za-z0-9_-]{8})\.(sending|kept)$/

const ofAnother = (id: string): LocalError =>
  new LocalError('entry_of_another', `the outbox entry ${id} is of another agent or another node`)

/** Where the outbox lies, and whose it is. */
export interface OutboxOptions {
  readonly folder: string
  readonly owner: { readonly server_id: string; readonly agent_id: string }
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
}

export class Outbox {
  readonly #options: OutboxOptions

  constructor(options: OutboxOptions) {
    this.#options = options
  }

  /** Write an entry, synced, as being sent by this process. */
  async add(content: Pick<OutboxEntry, 'idempotency_key' | 'request' | 'draft'>): Promise<OutboxEntry> {
    const { folder, owner, clock, random } = this.#options
    const now = clock()
    const id = `${String(now.getTime()).padStart(13, '0')}-${random(6).toString('base64url')}`
    const entry: OutboxEntry = { id, created_at: now.toISOString(), ...owner, ...content }
    await makePrivateFolder(folder)
    await this.update(entry)
    return entry
  }

  /** Write an entry again, still as being sent by this process. */
  async update(entry: OutboxEntry): Promise<void> {
    const path = this.#path(entry.id, 'sending')
    await writeDurably(path, `${JSON.stringify(entry)}\n`)
    await this.#touch(path)
  }

  /** The node could not be reached. */
  async keep(id: string): Promise<void> {
    await this.#move(this.#path(id, 'sending'), this.#path(id, 'kept'))
  }

  /** Answered, or dropped by a person. True when it was there. */
  async remove(id: string): Promise<boolean> {
    let removed = false
    for (const state of ['sending', 'kept'] as const) {
      try {
        await unlink(this.#path(id, state))
        removed = true
      } catch (error) {
        if (!isMissing(error)) throw storageFailed(this.#path(id, state), error)
      }
    }
    return removed
  }

  /** @throws LocalError `entry_of_another` when one of them is of another agent or another node. */
  async requireOwn(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const entry =
        (await this.#read(this.#path(id, 'kept'))) ?? (await this.#read(this.#path(id, 'sending')))
      if (entry !== undefined && !this.#isOwn(entry)) throw ofAnother(id)
    }
  }

  /**
   * Take an entry to send it. Undefined when another process has it, or when it is gone.
   *
   * @throws as {@link requireOwn}; the entry stays as it is.
   */
  async claim(id: string): Promise<OutboxEntry | undefined> {
    await this.requireOwn([id])
    const path = this.#path(id, 'sending')
    // The process that was at it died. Two who find out at once may both send it: with one key, once is all it does.
    if (await this.#isStale(path)) await this.keep(id)
    if (!(await this.#move(this.#path(id, 'kept'), path))) return undefined
    await this.#touch(path)
    const entry = await this.#read(path)
    // Another process moved it from one name to the other while it was looked for above.
    if (entry !== undefined && !this.#isOwn(entry)) {
      await this.keep(id)
      throw ofAnother(id)
    }
    return entry
  }

  /** Every entry of this folder, oldest first, whoever's it is. */
  async list(): Promise<ListedEntry[]> {
    const entries: ListedEntry[] = []
    for (const file of await this.#files()) {
      const [, , ending] = name.exec(file) ?? []
      const entry = await this.#read(join(this.#options.folder, file))
      if (entry !== undefined) entries.push({ ...entry, state: this.#stateOf(entry, ending === 'kept') })
    }
    return entries
  }

  /** The ids that may be sent without asking anybody, oldest first. */
  async due(): Promise<string[]> {
    if ((await this.#files()).length === 0) return []
    const entries = (await this.list()).filter(
      (entry) => entry.state !== 'waits for you' && this.#isOwn(entry),
    )
    const due: string[] = []
    for (const { id, state } of entries) {
      if (state === 'kept' || (await this.#isStale(this.#path(id, 'sending')))) due.push(id)
    }
    return due
  }

  #isOwn({ server_id, agent_id }: OutboxEntry): boolean {
    const { owner } = this.#options
    return server_id === owner.server_id && agent_id === owner.agent_id
  }

  #stateOf(entry: OutboxEntry, isKept: boolean): EntryState {
    const age = this.#options.clock().getTime() - Date.parse(entry.created_at)
    if (age > oldMs) return 'waits for you'
    return isKept ? 'kept' : 'sending'
  }

  async #files(): Promise<string[]> {
    try {
      return (await readdir(this.#options.folder)).filter((file) => name.test(file)).sort()
    } catch (error) {
      if (isMissing(error)) return []
      throw storageFailed(this.#options.folder, error)
    }
  }

  async #read(path: string): Promise<OutboxEntry | undefined> {
    try {
      return JSON.parse(await readFile(path, 'utf8')) as OutboxEntry
    } catch (error) {
      // Another process answered it meanwhile. Files are written whole, so there is no half one.
      if (isMissing(error)) return undefined
      throw storageFailed(path, error)
    }
  }

  async #isStale(path: string): Promise<boolean> {
    try {
      return this.#options.clock().getTime() - (await stat(path)).mtimeMs > staleMs
    } catch (error) {
      if (isMissing(error)) return false
      throw storageFailed(path, error)
    }
  }

  async #move(from: string, to: string): Promise<boolean> {
    try {
      await rename(from, to)
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw storageFailed(from, error)
    }
  }

  /** The file's age is told by the clock that was handed in. */
  async #touch(path: string): Promise<void> {
    const now = this.#options.clock()
    await utimes(path, now, now)
  }

  #path(id: string, ending: 'sending' | 'kept'): string {
    if (!idForm.test(id)) throw new TypeError('this is no id of an outbox entry')
    return join(this.#options.folder, `${id}.${ending}`)
  }
}
