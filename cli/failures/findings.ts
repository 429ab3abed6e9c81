/**
 * Findings of `doctor`. Each is one line with its remedy; with `--json` a program gets the list.
 *
 * The command exits with 0 if there is no problem, even if there are warnings. Otherwise it exits with the
 * code that the first problem has in other commands.
 *
 * Contract §12.
 */

import { oneLine } from '../../sdk/plain-text.ts'
import type { CliContext } from '../context.ts'
import { CommandError, type ExitName, exitCodes } from '../exit-codes.ts'

export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'problem'
  readonly text: string
  /** Next step for the reader. */
  readonly remedy?: string | undefined
  /** Exit code of a problem. */
  readonly exit?: ExitName
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text })
export const warning = (check: string, text: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  text,
  remedy,
})

/** Prints the findings. @throws CommandError when there is a problem. */
export function report({ output, typed }: CliContext, found: readonly Finding[]): void {
  const findings = found.map((finding) => ({ ...finding, remedy: finding.remedy && typed(finding.remedy) }))
  const broken = findings.filter(({ state }) => state === 'problem')
  const wire = findings.map(({ check, state, text, remedy, exit }) => ({
    check,
    state,
    text,
    remedy: remedy ?? null,
    exit_code: exit === undefined ? null : exitCodes[exit],
  }))
  output.result({ findings: wire, healthy: broken.length === 0 }, findings.map(line).join('\n'))
  // The remedy as given: run.ts rewrites the commands of a hint itself.
  const first = found.find(({ state }) => state === 'problem')
  if (first === undefined) return
  const count = broken.length === 1 ? '1 problem' : `${broken.length} problems`
  throw new CommandError(first.exit ?? 'unexpected', `${count} found, first: ${first.check}`, {
    hint: first.remedy,
  })
}

function line({ check, state, text, remedy }: Finding): string {
  const words = remedy === undefined ? text : `${text}; ${remedy}`
  return oneLine(`${state.padEnd(7)}  ${check.padEnd(11)}  ${words}`)
}
