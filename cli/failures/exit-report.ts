/**
 * Exit of a command and its reason, and how they are printed on standard error.
 *
 * - People get one line `bridge: …` and at most one line `hint: …`.
 * - With `--json` a program gets one JSON document, as the last line.
 *
 * Contract §12.
 */

import { oneLine, plainJson } from '../../sdk/plain-text.ts'
import { type ExitName, exitCodes } from '../exit-codes.ts'
import type { Io } from '../terminal/io.ts'

export interface ExitReport {
  readonly exit: ExitName
  /** Code of the refusal, or of the failure in this program. */
  readonly error?: string
  /** Absent if nothing is printed. */
  readonly message?: string
  readonly hint?: string | undefined
  /** Further details of a refusal, for programs. */
  readonly facts?: Readonly<Record<string, unknown>>
}

export function printExitReport(
  io: Io,
  { exit, error, message, hint, facts }: ExitReport,
  json: boolean,
): void {
  if (message === undefined || message === '') return
  if (json) {
    const wire = {
      error: error ?? exit,
      message,
      ...(hint && { hint }),
      exit_code: exitCodes[exit],
      ...facts,
    }
    io.err(`${plainJson(wire)}\n`)
    return
  }
  io.err(`bridge: ${oneLine(message)}\n`)
  if (hint !== undefined) io.err(`hint: ${oneLine(hint)}\n`)
}
