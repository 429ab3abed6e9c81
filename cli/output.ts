/**
 * What a command found: words for people, wire objects for programs.
 *
 * - `--json` prints exactly one document, or for streams one line each.
 * - Remote text never reaches a terminal as it is: see plain-text.ts.
 *
 * Contract §12.
 */
import type { Io } from './io.ts'
import { neutralize, oneLine, plainJson } from './plain-text.ts'

export interface Output {
  readonly json: boolean
  /** The one thing that the command was asked for. `text` may have several lines. */
  result(wire: unknown, text: string): void
  /** One of many, as it comes. */
  item(wire: unknown, text: string): void
  /** A table with a header for people; the same document for programs. */
  table(wire: unknown, header: readonly string[], rows: readonly (readonly string[])[], empty: string): void
  /** For the person who watches; never data. */
  note(text: string): void
}

export function createOutput(io: Io, settings: { readonly json: boolean }): Output {
  const print = (wire: unknown, text: string) =>
    io.out(settings.json ? `${plainJson(wire)}\n` : `${neutralize(text)}\n`)
  return {
    get json() {
      return settings.json
    },
    result: print,
    item: print,
    table: (wire, header, rows, empty) => {
      if (settings.json || rows.length > 0) print(wire, tableText(header, rows))
      else io.err(`${empty}\n`)
    },
    note: (text) => io.err(`${neutralize(text)}\n`),
  }
}

/** Columns two spaces apart; the last one is not padded. */
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
