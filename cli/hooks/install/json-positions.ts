/**
 * Positions of the values in a JSON text, so that an edit touches only the characters that it must.
 *
 * The scanner relies on `JSON.parse` having accepted the text.
 */

export interface Placed {
  readonly start: number
  readonly end: number
  /** Members of an object or elements of an array; undefined for every other value. */
  readonly items?: readonly Item[]
}

export interface Item {
  /** Name of a member; undefined for an element of an array. */
  readonly key?: string
  /** Where the name or the element begins. */
  readonly start: number
  readonly value: Placed
}

/** Returns the positions in `text`. */
export const positionsOf = (text: string): Placed => valueAt(text, spaceEnd(text, 0))

const spaceEnd = (text: string, from: number): number => {
  let at = from
  while (' \t\r\n'.includes(text[at] ?? '.')) at += 1
  return at
}

const stringEnd = (text: string, from: number): number => {
  let at = from + 1
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at + 1
}

function valueAt(text: string, start: number): Placed {
  const opening = text[start]
  if (opening === '"') return { start, end: stringEnd(text, start) }
  if (opening !== '{' && opening !== '[') {
    const rest = /[^\s,\]}]*/y
    rest.lastIndex = start
    return { start, end: start + (rest.exec(text)?.[0].length ?? 0) }
  }
  const items: Item[] = []
  let at = spaceEnd(text, start + 1)
  while (text[at] !== '}' && text[at] !== ']') {
    const item = opening === '{' ? memberAt(text, at) : { start: at, value: valueAt(text, at) }
    items.push(item)
    at = spaceEnd(text, item.value.end)
    if (text[at] === ',') at = spaceEnd(text, at + 1)
  }
  return { start, end: at + 1, items }
}

function memberAt(text: string, start: number): Item {
  const end = stringEnd(text, start)
  const colon = spaceEnd(text, end)
  const key = JSON.parse(text.slice(start, end)) as string
  return { key, start, value: valueAt(text, spaceEnd(text, colon + 1)) }
}
