/**
 * Prints the results of a command: text for people, API objects for programs.
 *
 * - `--json` prints exactly one document. A stream prints one line per item.
 * - Text from the node is neutralized before it is printed to a terminal; see sdk/plain-text.ts.
 *
 * Contract §12.
 */

import { neutralize, oneLine, plainJson } from '../../sdk/plain-text.ts'
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
  /** Prints a remark for people on standard error; never data. */
  note(text: string): void
  /** {@link note} whose commands are rewritten so that they can be pasted; see as-typed.ts. */
  next(text: string): void
}

export function createOutput(
  io: Io,
  settings: { readonly json: boolean },
  typed: (text: string) => string = (text) => text,
): Output {
  const printed = (wire: unknown, text: string) =>
    settings.json ? `${plainJson(wire)}\n` : `${neutralize(text)}\n`
  const print = (wire: unknown, text: string) => io.out(printed(wire, text))
  let usedStandardError = false
  return {
    get usedStandardError() {
      return usedStandardError
    },
    resultOrError: async (wire, text) => {
      if (await io.handOver(printed(wire, text))) return
      usedStandardError = true
      io.err(printed(wire, text))
    },
    get json() {
      return settings.json
    },
    result: print,
    item: print,
    handOver: (wire, text) => io.handOver(printed(wire, text)),
    table: (wire, header, rows, empty) => {
      if (settings.json || rows.length > 0) print(wire, tableText(header, rows))
      else io.err(`${typed(empty)}\n`)
    },
    note: (text) => io.err(`${neutralize(text)}\n`),
    next: (text) => io.err(`${neutralize(typed(text))}\n`),
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
