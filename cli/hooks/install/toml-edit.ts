/**
 * Appends tables to a TOML text and removes them. No other character changes.
 *
 * A table at the end of the file is valid wherever its parent is defined, except below an inline table. The
 * parser finds that case, because shared-file.ts parses the text before it writes it.
 */
import type { Entry, Json, JsonObject } from './entries.ts'

/** Returns the text with one more table. The value of the entry is an object without objects in it. */
export function appendToToml(text: string, entry: Entry): string {
  const eol = lineEndOf(text)
  const gap = text === '' ? '' : text.endsWith('\n') ? eol : eol + eol
  return text + gap + tableOf(entry, eol)
}

/** Returns the text without the table, or undefined if the table is not there exactly as we wrote it. */
export function removeFromToml(text: string, entry: Entry): string | undefined {
  const eol = lineEndOf(text)
  const table = tableOf(entry, eol)
  const at = text.indexOf(table)
  const startsLine = at === 0 || text[at - 1] === '\n'
  if (at === -1 || !startsLine || text.indexOf(table, at + 1) !== -1) return undefined
  const gap = text.slice(0, at).endsWith(eol + eol) ? eol.length : 0
  return text.slice(0, at - gap) + text.slice(at + table.length)
}

const lineEndOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

function tableOf({ at, value }: Entry, eol: string): string {
  const members = Object.entries(value as JsonObject)
  const lines = [
    `[${at.map(keyOf).join('.')}]`,
    ...members.map(([key, inner]) => `${keyOf(key)} = ${printed(inner)}`),
  ]
  return lines.map((line) => line + eol).join('')
}

const keyOf = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key))

/** JSON's escapes are those of a basic string of TOML, except for DEL. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll('\u007f', '\\u007F')

const printed = (value: Json): string =>
  Array.isArray(value)
    ? `[${value.map(printed).join(', ')}]`
    : typeof value === 'string'
      ? quoted(value)
      : String(value)
