/**
 * How a command ends, and how that is told: for people one line `bridge: …` and at most one `hint: …` on
 * standard error; with `--json` one JSON document there, on a line of its own and the last one.
 *
 * Contract §12.
 */

import { oneLine, plainJson } from '../../sdk/plain-text.ts'
import { type ExitName, exitCodes } from '../exit-codes.ts'
import type { Io } from '../terminal/io.ts'

export interface Ending {
  readonly exit: ExitName
  /** The code of the refusal, or of what went wrong here. */
  readonly error?: string
  /** Absent: nothing to say. */
  readonly message?: string
  readonly hint?: string | undefined
  /** What else a program may want to know of a refusal. */
  readonly facts?: Readonly<Record<string, unknown>>
}

export function printEnding(io: Io, { exit, error, message, hint, facts }: Ending, json: boolean): void {
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
