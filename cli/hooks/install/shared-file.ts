/**
 * Edits of files that may be the user's: Codex's `hooks.json` and `config.toml`, Copilot's `mcp-config.json`.
 *
 * - A plan reads the file, computes the new text and compares both as parsed. It changes nothing.
 * - Applying a plan replaces the file atomically, and only if it is still the one that was read.
 */
import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { CommandError } from '../../exit-codes.ts'
import { type Attributes, type Disk, lookAt } from './disk.ts'
import { draftOf } from './drafts.ts'
import { type Entry, hasMoreOf, MisfitError, withEntry, withoutEntry } from './entries.ts'
import { insertIntoJson, removeFromJson } from './json-edit.ts'
import { type SharedRecord, sha256 } from './record.ts'
import { appendToToml, removeFromToml } from './toml-edit.ts'

export interface SharedFile {
  readonly path: string
  readonly format: 'json' | 'toml'
  readonly entries: readonly Entry[]
}

/** A change of one file. Equal `before` and `after` mean no change; undefined means no file. */
export interface Change {
  /** The path without links. */
  readonly path: string
  readonly before: Buffer | undefined
  readonly after: Buffer | undefined
  readonly attributes: Attributes | undefined
}

export interface Insertion extends Change {
  readonly record: SharedRecord
}

export interface Removal extends Change {
  /** False if the file was edited since, so that only our entries are removed. */
  readonly isWhole: boolean
}

/** Plans the insertion of the entries, in place of those of an earlier installation. */
export async function planInsertion(
  file: SharedFile,
  recorded: SharedRecord | undefined,
  inside: readonly string[],
): Promise<Insertion> {
  const found = await find(file.path, inside)
  const format = await formatOf(file)
  const { bytes: base } = baseOf(found.before, recorded, format, file.path)
  const after = inserted(base, file, format)
  return {
    ...found,
    after,
    record: {
      path: file.path,
      format: file.format,
      entries: file.entries,
      original: base === undefined ? null : base.toString('base64'),
      sha256: sha256(after),
    },
  }
}

/** Plans the removal of our entries. */
export async function planRemoval(recorded: SharedRecord, inside: readonly string[]): Promise<Removal> {
  const found = await find(recorded.path, inside)
  const format = await formatOf(recorded)
  const { bytes, isWhole } = baseOf(found.before, recorded, format, recorded.path)
  return { ...found, after: bytes, isWhole }
}

export const isChange = ({ before, after }: Change): boolean =>
  before === undefined || after === undefined ? before !== after : !before.equals(after)

/** Replaces the file. @throws CommandError `conflict` if another program changed it since the plan */
export async function applyChange(change: Change, disk: Disk): Promise<void> {
  if (!isChange(change)) return
  const { path, before, after, attributes } = change
  const draft = draftOf(path)
  if (after !== undefined) {
    try {
      await disk.createFile(draft, after, attributes)
      await requireBytes(path, before)
      await disk.rename(draft, path)
    } catch (error) {
      await disk.removeFile(draft).catch(() => {})
      throw error
    }
  } else {
    await requireBytes(path, before)
    await disk.removeFile(path)
  }
  await disk.syncFolder(dirname(path))
  await requireBytes(path, after)
}

async function requireBytes(path: string, expected: Buffer | undefined): Promise<void> {
  const bytes = await bytesOf(path)
  if (bytes === undefined || expected === undefined ? bytes === expected : bytes.equals(expected)) return
  throw new CommandError('conflict', `another program changed ${path} at the same time`, {
    hint: 'run the command again',
  })
}

const bytesOf = async (path: string): Promise<Buffer | undefined> =>
  (await lookAt(path)) === undefined ? undefined : readFile(path)

/** Finds the file behind links. @throws CommandError for a file that we do not replace */
async function find(path: string, inside: readonly string[]): Promise<Omit<Change, 'after'>> {
  const real = await realPathOf(path, inside)
  const status = await lookAt(real)
  if (status === undefined) return { path: real, before: undefined, attributes: undefined }
  if (!status.isFile()) throw refused(path, 'is no regular file')
  if ((status.mode & 0o222) === 0) throw refused(path, 'is read-only')
  if (status.nlink > 1) throw refused(path, 'has a second name (hard link)')
  const { mode, uid, gid } = status
  return { path: real, before: await readFile(real), attributes: { mode: mode & 0o7777, uid, gid } }
}

/** Returns the path without links. @throws CommandError if a link leads out of the given folders */
export async function realPathOf(path: string, inside: readonly string[]): Promise<string> {
  const status = await lookAt(path)
  const real =
    status?.isSymbolicLink() === true
      ? await realpath(path).catch(() => undefined)
      : join(await realAncestor(dirname(path)), basename(path))
  if (real === undefined) throw refused(path, 'is a link that leads nowhere')
  const roots = await Promise.all(inside.map(realAncestor))
  if (roots.some((root) => isBelow(real, root))) return real
  throw refused(path, `leads out of the home folder, to ${real}`)
}

/** Resolves the links of a path whose last parts may not exist yet. */
async function realAncestor(path: string): Promise<string> {
  if ((await lookAt(path)) !== undefined) return realpath(path)
  return dirname(path) === path ? path : join(await realAncestor(dirname(path)), basename(path))
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && way !== ''
}

const refused = (path: string, why: string) =>
  new CommandError('conflict', `${path} ${why}; nothing was written`)

interface Format {
  parse(text: string): unknown
  insert(text: string, entry: Entry): string
  /** Undefined if the entry is there, but not as we wrote it. */
  remove(text: string, entry: Entry, kept: unknown): string | undefined
}

async function formatOf({ format }: { readonly format: 'json' | 'toml' }): Promise<Format> {
  if (format === 'json') {
    const parse = (text: string): unknown => (text.trim() === '' ? {} : JSON.parse(text))
    return { parse, insert: insertIntoJson, remove: removeFromJson }
  }
  const { parse } = await import('smol-toml')
  return {
    parse: (text) => parse(text, { integersAsBigInt: 'asNeeded' }),
    insert: appendToToml,
    remove: removeFromToml,
  }
}

interface Content {
  readonly mark: string
  readonly text: string
  readonly data: unknown
}

const byteOrderMark = '\ufeff'

/** @throws CommandError for a file that is not UTF-8 or cannot be parsed */
function contentOf(bytes: Buffer | undefined, { parse }: Format, path: string): Content {
  const whole = bytes ?? Buffer.of()
  const text = whole.toString('utf8')
  if (!Buffer.from(text, 'utf8').equals(whole)) throw refused(path, 'is not UTF-8 text')
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ''
  const rest = text.slice(mark.length)
  try {
    return { mark, text: rest, data: parse(rest) }
  } catch (cause) {
    // The parser's message may repeat the content, which can hold secrets.
    throw new CommandError('conflict', `${path} cannot be parsed; nothing was written`, { cause })
  }
}

/** Returns the bytes without our entries, and whether these are the bytes from before the installation. */
function baseOf(
  current: Buffer | undefined,
  recorded: SharedRecord | undefined,
  format: Format,
  path: string,
): { bytes: Buffer | undefined; isWhole: boolean } {
  const states = [recorded, recorded?.was].filter((state) => state !== undefined)
  const hash = current === undefined ? undefined : sha256(current)
  for (const state of states) {
    if (state.sha256 === hash) return { bytes: originalOf(state), isWhole: true }
  }
  for (const state of states) {
    const original = originalOf(state)
    if (original === undefined ? current === undefined : current?.equals(original) === true)
      return { bytes: current, isWhole: true }
  }
  if (current === undefined) return { bytes: undefined, isWhole: false }
  const without = states.map((state) => removed(current, state, format, path))
  return { bytes: without.find((bytes) => !bytes.equals(current)) ?? current, isWhole: false }
}

const originalOf = ({ original }: SharedRecord): Buffer | undefined =>
  original === null ? undefined : Buffer.from(original, 'base64')

/** @throws CommandError if an entry does not fit, or if the new text would parse to something else */
function inserted(base: Buffer | undefined, { path, entries }: SharedFile, format: Format): Buffer {
  const { mark, text, data } = contentOf(base, format, path)
  try {
    const expected = entries.reduce<unknown>(withEntry, data)
    const after = entries.reduce((before, entry) => format.insert(before, entry), text)
    if (isSame(format.parse(after), expected)) return Buffer.from(mark + after)
  } catch (error) {
    if (error instanceof MisfitError) throw refused(path, `does not fit: ${error.message}`)
    // The new text does not parse. For example, TOML forbids a table below an inline table.
  }
  throw refused(path, 'is written in a way that our entries do not fit into')
}

function removed(current: Buffer, { entries, original }: SharedRecord, format: Format, path: string): Buffer {
  const { mark, text, data } = contentOf(current, format, path)
  const kept = original === null ? {} : contentOf(Buffer.from(original, 'base64'), format, path).data
  const backwards = entries.toReversed()
  try {
    const expected = backwards.reduce((before, entry) => withoutEntry(before, entry, kept), data)
    if (hasMoreOf(entries, expected, kept)) throw new MisfitError('our hooks stand among others')
    let rest: string | undefined = text
    for (const entry of backwards) {
      const before: unknown = rest === undefined ? undefined : format.parse(rest)
      if (rest !== undefined && withoutEntry(before, entry, kept) !== before)
        rest = format.remove(rest, entry, kept)
    }
    if (rest !== undefined && isSame(format.parse(rest), expected)) return Buffer.from(mark + rest)
  } catch {
    // The rest does not parse, or has another structure.
  }
  throw refused(path, 'was edited so that our entries cannot be told apart')
}

/** Compares without prototypes, which the parsers set differently. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(structuredClone(one), structuredClone(other))
