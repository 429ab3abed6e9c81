/**
 * Entries that we add to a file of the user's, and their effect on its parsed content.
 *
 * These functions know no text. shared-file.ts compares their result with the parsed text before it writes.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = { readonly [key: string]: Json }

/** A value below a path of names: the value of the last name, or one more element of the array there. */
export interface Entry {
  readonly at: readonly string[]
  readonly value: Json
  readonly appended?: true
}

/** Fault of a file that an entry does not fit into. Its message names the place. */
export class MisfitError extends Error {
  override readonly name = 'MisfitError'
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at a path, or undefined. @throws MisfitError when a value on the way is no object */
export function valueAt(data: unknown, at: readonly string[]): unknown {
  let value = data
  for (const [depth, name] of at.entries()) {
    if (value === undefined) return undefined
    if (!isObject(value))
      throw new MisfitError(`${at.slice(0, depth).join('.') || 'its content'} is no object`)
    value = Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}

/** Returns the elements of the array at a path; none if nothing is there. @throws MisfitError for other values */
export function elementsAt(data: unknown, at: readonly string[]): readonly unknown[] {
  const found = valueAt(data, at)
  if (found === undefined) return []
  if (Array.isArray(found)) return found
  throw new MisfitError(`${at.join('.')} is no array`)
}

/** Returns a copy of the data with the entry. @throws MisfitError when the place is taken */
export function withEntry(data: unknown, { at, value, appended }: Entry): unknown {
  if (appended === true) return replaced(data, at, [...elementsAt(data, at), value])
  if (valueAt(data, at) !== undefined) throw new MisfitError(`it already has ${at.join('.')}`)
  return replaced(data, at, value)
}

/**
 * Returns a copy of the data without the entry, or the data itself if the entry is not there or has another
 * command. An object or array that becomes empty goes too, except those of `kept`, the data from before the
 * entry.
 */
export function withoutEntry(data: unknown, entry: Entry, kept: unknown): unknown {
  const { at, appended } = entry
  let rest = data
  if (appended === true) {
    const index = indexOfOurs(elementsAt(data, at), entry)
    if (index === -1) return data
    rest = replaced(data, at, elementsAt(data, at).toSpliced(index, 1))
  } else {
    const found = valueAt(data, at)
    if (found === undefined || indexOfOurs([found], entry) === -1) return data
    rest = replaced(data, at, undefined)
  }
  for (const path of emptiedPaths(at, appended)) {
    const left = valueAt(rest, path)
    const isEmpty = Array.isArray(left) ? left.length === 0 : isObject(left) && Object.keys(left).length === 0
    if (!isEmpty || isThere(kept, path)) break
    rest = replaced(rest, path, undefined)
  }
  return rest
}

/** Returns the paths of the containers of an entry, innermost first, without the whole. */
export const emptiedPaths = (at: readonly string[], appended?: boolean): readonly (readonly string[])[] => {
  const longest = appended === true ? at.length : at.length - 1
  return Array.from({ length: longest }, (_, index) => at.slice(0, longest - index))
}

export function isThere(data: unknown, at: readonly string[]): boolean {
  try {
    return valueAt(data, at) !== undefined
  } catch {
    return false
  }
}

/** Returns which element is our entry. The commands decide, so an element with a changed timeout is found. */
export function indexOfOurs(elements: readonly unknown[], { value }: Entry): number {
  const ours = commandsOf(value).join('\n')
  return elements.findIndex((element) => commandsOf(element).join('\n') === ours)
}

/**
 * Whether the data has more commands of these elements than `kept`, because the user joined them with others or
 * moved them.
 */
export function hasMoreOf(entries: readonly Entry[], data: unknown, kept: unknown): boolean {
  const ours = new Set(
    entries.filter(({ appended }) => appended === true).flatMap(({ value }) => commandsOf(value)),
  )
  const countIn = (whole: unknown) => commandsOf(whole).filter((command) => ours.has(command)).length
  return countIn(data) > countIn(kept)
}

function commandsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(commandsOf)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === 'command' && typeof inner === 'string' ? [inner] : commandsOf(inner),
  )
}

/** Returns a copy whose value at the path is replaced; undefined removes it. */
function replaced(data: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value
  const copy: Record<string, unknown> = { ...(isObject(data) ? data : {}) }
  const inner = replaced(copy[name], rest, value)
  if (inner === undefined) delete copy[name]
  else copy[name] = inner
  return copy
}
