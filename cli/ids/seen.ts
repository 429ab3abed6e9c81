/**
 * Record of the ids that a profile printed, so that `last` and the end of an id name them later.
 *
 * - Each kind has one file with a line per id, `<id> <how> <word>`, and the file before it (`.old`). A file of
 *   128 KiB, about 2000 ids, becomes the old one.
 * - Lines are appended in one write, so several processes may write at once. A line that was cut off by a full
 *   disk is skipped.
 * - The record is a convenience: a failure to read or write it is no failure of the command.
 *
 * Contract §12.
 */
import { accessSync, appendFileSync, constants, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { oneLine } from '../../sdk/plain-text.ts'
import { type FoundId, type How, type Kind, kinds, uuid, wholeId } from './kinds.ts'

export interface SeenBounds {
  /** Size at which a file becomes the old one. */
  readonly fileBytes: number
  /** The most lines that one call appends. */
  readonly lines: number
}
const usual: SeenBounds = { fileBytes: 128 * 1024, lines: 2000 }
const shortest = 8
/** Digits of the last group of a UUID. */
const longest = 12

const letters: Readonly<Record<How, string>> = { printed: 'p', mine: 'm', shown: 's', named: 'n' }
const byLetter = new Map(Object.entries(letters).map(([how, letter]) => [letter, how as How]))

export class SeenIds {
  readonly #folder: () => string | undefined
  readonly #bounds: SeenBounds
  readonly #known = new Map<Kind, { readonly stamp: string; readonly known: Known }>()
  readonly #batches = new WeakMap<readonly FoundId[], Known>()
  #rotated = Promise.resolve()
  /** The last folder that could be written. */
  #usable: string | undefined
  /** Id of the profile's agent. Undefined for the owner. */
  me: string | undefined

  /** `folder` returns where the files are. Undefined means that nothing is recorded and no id is shortened. */
  constructor(folder: () => string | undefined, bounds: SeenBounds = usual) {
    this.#folder = folder
    this.#bounds = bounds
  }

  /** The recorded ids of a kind, oldest first. An id may occur several times. */
  all(kind: Kind): readonly FoundId[] {
    return this.#of(kind).ids
  }

  /** Appends what the files do not have yet, and always the last object of each kind. */
  add(found: readonly FoundId[]): void {
    for (const [kind, ids] of Map.groupBy(found, ({ kind }) => kind)) {
      const known = this.#of(kind)
      const last = ids.findLast(isObject)
      const fresh = new Map<string, string>()
      for (const each of ids) {
        const isWhole = each.how === 'printed' || each.how === 'mine'
        const isKnown = isWhole ? known.has(each.id, each.how) : known.has(each.id) || fresh.has(each.id)
        if (isKnown && each !== last) continue
        fresh.delete(each.id)
        fresh.set(each.id, `${each.id} ${letters[each.how]} ${oneLine(each.word)}\n`)
      }
      if (fresh.size === 1 && last !== undefined && fresh.has(last.id) && known.isLast(last)) continue
      if (fresh.size > 0) this.#append(kind, [...fresh.values()].slice(-this.#bounds.lines).join(''), known)
    }
  }

  /** Returns the id's shortest ending of 8 to 12 digits that no other known id of its kind has. */
  short(kind: Kind, id: string, also: readonly FoundId[] = []): string {
    const rivals = [...this.#of(kind).rivals(id), ...this.#batch(also).rivals(id)]
    for (let digits = shortest; digits <= longest; digits += 1) {
      const end = id.slice(-digits)
      if (!rivals.some((rival) => rival.endsWith(end))) return end
    }
    return id
  }

  /**
   * Shortens ids in a text, except in the lines of a message body: those in `found`, or all that are recorded.
   */
  shorten(text: string, found?: readonly FoundId[]): string {
    if (!uuid.test(text) || !this.#isUsable()) return text
    const kindOf = (id: string): Kind | undefined =>
      found === undefined ? kinds.find((kind) => this.#of(kind).has(id)) : this.#batch(found).kindOf(id)
    const replaced = (line: string) =>
      line.replace(inText, (id) => {
        const kind = kindOf(id)
        return kind === undefined ? id : this.short(kind, id, found)
      })
    return text
      .split('\n')
      .map((line) => (line.startsWith('| ') ? line : replaced(line)))
      .join('\n')
  }

  /** Resolves when full files have been replaced. */
  settled(): Promise<void> {
    return this.#rotated
  }

  /** Without a folder that can be written, a short id could not be resolved later. */
  #isUsable(): boolean {
    const folder = this.#folder()
    if (folder === undefined) return false
    if (folder !== this.#usable && !isWritable(folder)) return false
    this.#usable = folder
    return true
  }

  #path(kind: Kind): string | undefined {
    const folder = this.#folder()
    return folder === undefined ? undefined : join(folder, kind)
  }

  /** The recorded ids of a kind. The files are read again only if they have changed. */
  #of(kind: Kind): Known {
    const path = this.#path(kind)
    if (path === undefined) return nothing
    const stamp = `${path} ${stampOf(`${path}.old`)} ${stampOf(path)}`
    const cached = this.#known.get(kind)
    if (cached?.stamp === stamp) return cached.known
    const text = `${readIfThere(`${path}.old`)}\n${readIfThere(path)}`
    const known = new Known(parsed(kind, text), text.endsWith('\n'))
    this.#known.set(kind, { stamp, known })
    return known
  }

  #batch(found: readonly FoundId[]): Known {
    const made = this.#batches.get(found) ?? new Known(found, true)
    this.#batches.set(found, made)
    return made
  }

  #append(kind: Kind, lines: string, { isComplete }: Known): void {
    const path = this.#path(kind)
    if (path === undefined || !this.#isUsable()) return
    try {
      appendFileSync(path, isComplete ? lines : `\n${lines}`, { mode: 0o600 })
      const { fileBytes } = this.#bounds
      if (statSync(path).size > fileBytes) this.#rotated = this.#rotated.then(() => rotate(path, fileBytes))
    } catch {
      // A full or read-only disk: the command itself succeeded.
    }
  }
}

/** Ids, found by their ends. */
class Known {
  readonly ids: readonly FoundId[]
  /** Whether the last line of the file is whole. */
  readonly isComplete: boolean
  readonly #kinds = new Map<string, Kind>()
  readonly #hows = new Set<string>()
  readonly #byEnd = new Map<string, Set<string>>()

  constructor(ids: readonly FoundId[], isComplete: boolean) {
    this.ids = ids
    this.isComplete = isComplete
    for (const { id, kind, how } of ids) {
      this.#kinds.set(id, kind)
      this.#hows.add(`${id} ${how}`)
      const end = id.slice(-shortest)
      const sharing = this.#byEnd.get(end)
      if (sharing === undefined) this.#byEnd.set(end, new Set([id]))
      else sharing.add(id)
    }
  }

  kindOf(id: string): Kind | undefined {
    return this.#kinds.get(id)
  }

  has(id: string, how?: How): boolean {
    return how === undefined ? this.#kinds.has(id) : this.#hows.has(`${id} ${how}`)
  }

  isLast({ id, how }: FoundId): boolean {
    const last = this.ids.findLast(isObject)
    return last?.id === id && last.how === how
  }

  /** Other ids whose last 8 digits are the same. */
  rivals(id: string): string[] {
    return [...(this.#byEnd.get(id.slice(-shortest)) ?? [])].filter((other) => other !== id)
  }
}

const nothing = new Known([], true)

const isObject = ({ how }: FoundId): boolean => how !== 'named'

/** An id that is no part of a longer word, such as `<id>.<secret>`. */
const inText = new RegExp(`(?<![\\w.-])${uuid.source}(?![\\w.-])`, 'g')

const idChars = 36

const parsed = (kind: Kind, text: string): FoundId[] =>
  text.split('\n').flatMap((line) => {
    const id = line.slice(0, idChars)
    const how = line[idChars] === ' ' ? byLetter.get(line[idChars + 1] ?? '') : undefined
    return how === undefined || !wholeId.test(id) ? [] : [{ kind, id, how, word: line.slice(idChars + 3) }]
  })

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Creates the folder if it is missing. */
function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 })
    return true
  } catch {
    // It exists, or its parent does not.
  }
  try {
    accessSync(folder, constants.W_OK)
    return statSync(folder).isDirectory()
  } catch {
    return false
  }
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`
}

/** Under a lock, so that two processes do not replace the old file twice. */
async function rotate(path: string, fileBytes: number): Promise<void> {
  try {
    const { takeLock } = await import('../../sdk/storage/lock.ts')
    const lock = await takeLock(join(dirname(path), 'lock'))
    try {
      if (lock !== undefined && statSync(path).size > fileBytes) renameSync(path, `${path}.old`)
    } finally {
      lock?.release()
    }
  } catch {
    // The next command that prints an id of this kind tries again.
  }
}
