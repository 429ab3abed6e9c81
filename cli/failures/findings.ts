/**
 * What `doctor` found: one line each, with its remedy; a program gets the list.
 *
 * It ends with 0 when nothing is broken, warnings or not, else with the exit code that the first thing broken has
 * elsewhere.
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
  /** What to do about it. */
  readonly remedy?: string | undefined
  /** Of a problem. */
  readonly exit?: ExitName
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text })
export const warning = (check: string, text: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  text,
  remedy,
})

/** @throws CommandError when something is broken. */
export function report({ output, typed }: CliContext, found: readonly Finding[]): void {
  const findings = found.map((each) => ({ ...each, remedy: each.remedy && typed(each.remedy) }))
  const broken = findings.filter(({ state }) => state === 'problem')
  const wire = findings.map(({ check, state, text, remedy, exit }) => ({
    check,
    state,
    text,
    remedy: remedy ?? null,
    exit_code: exit === undefined ? null : exitCodes[exit],
  }))
  output.result({ findings: wire, healthy: broken.length === 0 }, findings.map(line).join('\n'))
  const [first] = broken
  if (first === undefined) return
  const count = broken.length === 1 ? 'one thing is' : `${broken.length} things are`
  throw new CommandError(first.exit ?? 'unexpected', `${count} broken, first: ${first.check}`, {
    hint: first.remedy,
  })
}

function line({ check, state, text, remedy }: Finding): string {
  const told = remedy === undefined ? text : `${text}; ${remedy}`
  return oneLine(`${state.padEnd(7)}  ${check.padEnd(11)}  ${told}`)
}
