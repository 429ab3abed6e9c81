/**
 * Prints the results of a command: text for people, API objects for programs.
 *
 * - `--json` prints exactly one document. A stream prints one line per item.
 * - A text shows the ends of ids, JSON whole ids. Every id in a printed object is recorded; see ids/seen.ts.
 * - Text from the node is neutralized before it is printed to a terminal; see sdk/plain-text.ts.
 *
 * Contract §12.
 */

import { neutralize, oneLine, plainJson } from '../../sdk/plain-text.ts'
import { type FoundId, idsIn } from '../ids/kinds.ts'
import type { SeenIds } from '../ids/seen.ts'
import type { Io } from './io.ts'

export interface Output {
  readonly json: boolean
  /** Prints the single result of the command. `text` may have several lines. */
  result(wire: unknown, text: string): void
  /** Prints one of many results as it arrives. */
  item(wire: unknown, text: string): void
  /** {@link item}; resolves to whether it was written. */
  handOver(wire: unknown, text: string): Promise<boolean>
  /**
   * Prints the result of a completed action, on standard error if standard output cannot be written. The
   * command then still succeeds.
   */
  resultOrError(wire: unknown, text: string): Promise<void>
  /** Whether {@link resultOrError} had to use standard error. */
  readonly usedStandardError: boolean
  /** Prints a table with a header for people, or the same document for programs. */
  table(wire: unknown, header: readonly string[], rows: readonly (readonly string[])[], empty: string): void
  /** Records the ids of an object that only a note shows. */
  saw(wire: unknown): void
  /** Prints a remark for people on standard error; never data. */
  note(text: string): void
  /** {@link note} whose commands are rewritten so that they can be pasted; see as-typed.ts. */
  next(text: string): void
}

export interface OutputParts {
  readonly io: Io
  readonly settings: { readonly json: boolean }
  readonly ids: SeenIds
  /** Rewrites commands so that they can be pasted. */
  readonly typed?: (text: string) => string
  /** Whether texts show whole ids. The record gets them in both cases. */
  readonly wholeIds?: true | undefined
}

export function createOutput({ io, settings, ids, typed = (text) => text, wholeIds }: OutputParts): Output {
  const shorten = (text: string, of?: readonly FoundId[]) =>
    wholeIds === true ? text : ids.shorten(text, of)
  const found = (wire: unknown): FoundId[] => idsIn(wire, ids.me)
  const forPeople = (wire: unknown, text: string) =>
    neutralize(shorten(text, typeof wire === 'string' ? undefined : found(wire)))
  const printed = (wire: unknown, text: string) =>
    settings.json ? `${plainJson(wire)}\n` : `${forPeople(wire, text)}\n`
  const print = (wire: unknown, text: string) => io.out(printed(wire, text), () => ids.add(found(wire)))
  const note = (text: string) => io.err(`${neutralize(settings.json ? text : shorten(text))}\n`)
  let usedStandardError = false
  return {
    get usedStandardError() {
      return usedStandardError
    },
    resultOrError: async (wire, text) => {
      const output = printed(wire, text)
      if (!(await io.handOver(output))) {
        usedStandardError = true
        io.err(output)
      }
      ids.add(found(wire))
    },
    get json() {
      return settings.json
    },
    result: print,
    item: print,
    handOver: async (wire, text) => {
      const isWritten = await io.handOver(printed(wire, text))
      if (isWritten) ids.add(found(wire))
      return isWritten
    },
    table: (wire, header, rows, empty) => {
      const of = found(wire)
      const cells = settings.json ? rows : rows.map((row) => row.map((cell) => shorten(cell, of)))
      if (settings.json || rows.length > 0) print(wire, tableText(header, cells))
      else io.err(`${typed(empty)}\n`)
    },
    saw: (wire) => ids.add(found(wire)),
    note,
    next: (text) => note(typed(text)),
  }
}

/** Formats a table. Columns are two spaces apart; the last one is not padded. */
export function tableText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows].map((row) => row.map(oneLine))
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
