/**
 * Outbox: the Idempotency-Key and body of every mutation, durable before the first attempt.
 *
 * An entry is one file:
 * - Its name ends in `.sending` while a process sends it. If that process died, another one may take it after 2
 *   minutes.
 * - Its name ends in `.kept` if the node was unreachable. The next mutation or a flush sends it, once.
 * - It is removed when the node has answered, with a 200 or a refusal.
 *
 * The node keeps Idempotency-Keys for 7 days. An entry older than 6 days is not sent automatically. A person
 * decides.
 *
 * Contract §12.
 */
import { readdir, readFile, rename, stat, unlink, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { MessageInput } from '../contract/agent/messages.ts'
import { LocalError } from '../transport/failures.ts'
import type { PreparedRequest } from '../transport/http.ts'
import { isMissing, makePrivateFolder, storageFailed, writeDurably } from './durable-file.ts'

/**
 * Message whose recipient has not been looked up. Without `to`, it goes to the sender of the message that it
 * replies to.
 */
export interface MessageDraft extends Omit<MessageInput, 'conversation_id' | 'recipient_agent_id'> {
  readonly to?: string | undefined
}

/** Stored mutation: its key, and the request or the draft of it. */
export interface OutboxEntry {
  /** Id that sorts by age. */
  readonly id: string
  readonly created_at: string
  /** Node and agent that the entry belongs to. Only this identity may send it. */
  readonly server_id: string
  readonly agent_id: string
  readonly idempotency_key: string | null
  /** Null as long as there is only a draft. */
  readonly request: PreparedRequest | null
  readonly draft: MessageDraft | null
}

/**
 * State of an entry: a process is sending it, it waits for the next flush, or a person must decide (older
 * than 6 days).
 */
export type EntryState = 'sending' | 'kept' | 'waits for you'

/** Entry with its state. */
export interface ListedEntry extends OutboxEntry {
  readonly state: EntryState
}

const staleMs = 120_000
const oldMs = 6 * 86_400_000
const idForm = /^\d{13}-[A-Za-z0-9_-]{8}$/
const name = /^(\d{13}-[A-Za-z0-9_-]{8})\.(sending|kept)$/

const ofAnother = (id: string): LocalError =>
  new LocalError('entry_of_another', `the outbox entry ${id} belongs to another agent or another node`)

/** Folder and identity of an outbox. */
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

  /** Stores an entry durably, as being sent by this process. */
  async add(content: Pick<OutboxEntry, 'idempotency_key' | 'request' | 'draft'>): Promise<OutboxEntry> {
    const { folder, owner, clock, random } = this.#options
    const now = clock()
    const id = `${String(now.getTime()).padStart(13, '0')}-${random(6).toString('base64url')}`
    const entry: OutboxEntry = { id, created_at: now.toISOString(), ...owner, ...content }
    await makePrivateFolder(folder)
    await this.update(entry)
    return entry
  }

  /** Replaces an entry durably, still as being sent by this process. */
  async update(entry: OutboxEntry): Promise<void> {
    const path = this.#path(entry.id, 'sending')
    await writeDurably(path, `${JSON.stringify(entry)}\n`)
    await this.#touch(path)
  }

  /** Keeps an entry for later, because the node was unreachable. */
  async keep(id: string): Promise<void> {
    await this.#move(this.#path(id, 'sending'), this.#path(id, 'kept'))
  }

  /** Removes an entry that was answered, or dropped by a person. Returns true if it existed. */
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

  /**
   * Checks the owner of entries.
   *
   * @throws LocalError `entry_of_another` if one belongs to another agent or another node.
   */
  async requireOwn(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const entry =
        (await this.#read(this.#path(id, 'kept'))) ?? (await this.#read(this.#path(id, 'sending')))
      if (entry !== undefined && !this.#isOwn(entry)) throw ofAnother(id)
    }
  }

  /**
   * Takes an entry to send it. Returns undefined if another process is sending it, or if it was removed.
   *
   * @throws as {@link requireOwn}; the entry then stays unchanged.
   */
  async claim(id: string): Promise<OutboxEntry | undefined> {
    await this.requireOwn([id])
    const path = this.#path(id, 'sending')
    // The process that was sending it died. Two processes may find that out together and both send it. With one
    // Idempotency-Key it takes effect once.
    if (await this.#isStale(path)) await this.keep(id)
    if (!(await this.#move(this.#path(id, 'kept'), path))) return undefined
    await this.#touch(path)
    const entry = await this.#read(path)
    // Another process renamed the file during the check above, so the owner is checked again.
    if (entry !== undefined && !this.#isOwn(entry)) {
      await this.keep(id)
      throw ofAnother(id)
    }
    return entry
  }

  /** Returns all entries of the folder, oldest first, including those of other identities. */
  async list(): Promise<ListedEntry[]> {
    const entries: ListedEntry[] = []
    for (const file of await this.#files()) {
      const [, , ending] = name.exec(file) ?? []
      const entry = await this.#read(join(this.#options.folder, file))
      if (entry !== undefined) entries.push({ ...entry, state: this.#stateOf(entry, ending === 'kept') })
    }
    return entries
  }

  /** Returns the ids of entries that can be sent automatically, oldest first. */
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
      // Another process removed it meanwhile. Files are written atomically, so none is incomplete.
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

  /** Sets the file's modification time by the given clock, from which its age is computed. */
  async #touch(path: string): Promise<void> {
    const now = this.#options.clock()
    await utimes(path, now, now)
  }

  #path(id: string, ending: 'sending' | 'kept'): string {
    if (!idForm.test(id)) throw new TypeError('this is not an id of an outbox entry')
    return join(this.#options.folder, `${id}.${ending}`)
  }
}
