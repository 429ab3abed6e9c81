/**
 * Inserts entries into a JSON text and removes them. All other characters stay: indentation, order, line
 * ends.
 */
import { type Entry, elementsAt, emptiedPaths, indexOfOurs, isThere } from './entries.ts'
import { type Item, type Placed, positionsOf } from './json-positions.ts'

/** Returns the text with the entry. The entry must fit: see `withEntry` of entries.ts. */
export function insertIntoJson(text: string, { at, value, appended }: Entry): string {
  if (text.trim() === '') return insertIntoJson('{}\n', { at, value, ...(appended && { appended }) })
  let container = positionsOf(text)
  for (const [index, name] of at.entries()) {
    const isLast = index === at.length - 1
    const found = itemOf(container, name)
    if (found === undefined) {
      const rest = at.slice(index + 1)
      return withItem(text, container, {
        key: name,
        value: nested(rest, appended === true ? [value] : value),
      })
    }
    container = found.value
    if (isLast) return withItem(text, container, { value })
  }
  return text
}

/** Returns the text without the entry, which is there. Containers go as `withoutEntry` of entries.ts says. */
export function removeFromJson(text: string, entry: Entry, kept: unknown): string {
  const { at, appended } = entry
  let rest = text
  if (appended === true) {
    const index = indexOfOurs(elementsAt(JSON.parse(text), at), entry)
    rest = withoutItem(text, placedAt(text, at), index)
  } else {
    rest = withoutMember(text, at)
  }
  for (const path of emptiedPaths(at, appended)) {
    if (placedAt(rest, path)?.items?.length !== 0 || isThere(kept, path)) break
    rest = withoutMember(rest, path)
  }
  return rest
}

const nested = (names: readonly string[], value: unknown): unknown =>
  names.reduceRight((inner, name) => ({ [name]: inner }), value)

/** `JSON.parse` takes the last of several members with one name, and so does this. */
const itemOf = ({ items = [] }: Placed, name: string): Item | undefined =>
  items.findLast(({ key }) => key === name)

function placedAt(text: string, at: readonly string[]): Placed | undefined {
  let placed: Placed | undefined = positionsOf(text)
  for (const name of at) placed = placed === undefined ? undefined : itemOf(placed, name)?.value
  return placed
}

function withItem(text: string, container: Placed, item: { key?: string; value: unknown }): string {
  const { start, items = [] } = container
  const style = styleOf(text)
  const last = items.at(-1)
  const printed = (indent: string | undefined) => {
    const key =
      item.key === undefined ? '' : `${JSON.stringify(item.key)}:${style.unit === undefined ? '' : ' '}`
    const value = JSON.stringify(item.value, null, indent === undefined ? undefined : style.unit)
    return key + value.replaceAll('\n', `${style.eol}${indent ?? ''}`)
  }
  if (last !== undefined) {
    const before = text.slice(0, last.start)
    const space = /[ \t\r\n]*$/.exec(before)?.[0] ?? ''
    const indent = space.includes('\n') ? space.slice(space.lastIndexOf('\n') + 1) : undefined
    return `${text.slice(0, last.value.end)},${space}${printed(indent)}${text.slice(last.value.end)}`
  }
  if (style.unit === undefined)
    return `${text.slice(0, start + 1)}${printed(undefined)}${text.slice(start + 1)}`
  const outer = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', start) + 1))?.[0] ?? ''
  const indent = outer + style.unit
  return `${text.slice(0, start + 1)}${style.eol}${indent}${printed(indent)}${style.eol}${outer}${text.slice(container.end - 1)}`
}

/** Returns the unit of indentation, undefined for a text on one line, and the line end. */
function styleOf(text: string): { readonly unit: string | undefined; readonly eol: string } {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const unit = /\n([ \t]+)\S/.exec(text)?.[1]
  const isEmpty = /^\s*\{\s*\}\s*$/.test(text)
  return { unit: unit ?? (isEmpty ? '  ' : undefined), eol }
}

function withoutMember(text: string, at: readonly string[]): string {
  const container = placedAt(text, at.slice(0, -1))
  const index = container?.items?.findLastIndex(({ key }) => key === at.at(-1)) ?? -1
  return withoutItem(text, container, index)
}

function withoutItem(text: string, container: Placed | undefined, index: number): string {
  const { items = [] } = container ?? {}
  const item = items[index]
  if (container === undefined || item === undefined) return text
  const previous = items[index - 1]
  const next = items[index + 1]
  const from = previous?.value.end ?? (next === undefined ? container.start + 1 : item.start)
  const to = previous !== undefined ? item.value.end : (next?.start ?? container.end - 1)
  return text.slice(0, from) + text.slice(to)
}
