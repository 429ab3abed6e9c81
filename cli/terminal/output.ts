/**
 * What a command found: words for people, wire objects for programs.
 *
 * - `--json` prints exactly one document, or for streams one line each.
 * - Remote text never reaches a terminal as it is: see sdk/plain-text.ts.
 *
 * Contract §12.
 */

import { neutralize, oneLine, plainJson } from '../../sdk/plain-text.ts'
import type { Io } from './io.ts'

export interface Output {
  readonly json: boolean
  /** The one thing that the command was asked for. `text` may have several lines. */
  result(wire: unknown, text: string): void
  /** One of many, as it comes. */
  item(wire: unknown, text: string): void
  /** {@link item}; resolves when it was written, to false when it could not be. */
  handOver(wire: unknown, text: string): Promise<boolean>
  /**
   * {@link result} of what has happened whoever reads it: on standard error when standard output takes nothing, and then
   * that output was lost is no failure of the command.
   */
  resultSomewhere(wire: unknown, text: string): Promise<void>
  readonly isToldElsewhere: boolean
  /** A table with a header for people; the same document for programs. */
  table(wire: unknown, header: readonly string[], rows: readonly (readonly string[])[], empty: string): void
  /** For the person who watches; never data. */
  note(text: string): void
  /** {@link note} that names commands of ours: they are spelled as they have to be typed. */
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
  let isToldElsewhere = false
  return {
    get isToldElsewhere() {
      return isToldElsewhere
    },
    resultSomewhere: async (wire, text) => {
      if (await io.handOver(printed(wire, text))) return
      isToldElsewhere = true
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
