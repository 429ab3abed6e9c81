/**
 * The factory of every command: commander with our rules.
 *
 * - Nothing exits or prints by itself: `exitOverride` on every command, since it is not inherited.
 * - `--json` and `--profile` stand on every command, before or after its name.
 * - Every help ends with one working example.
 *
 * Contract §12.
 */
import { Command, type CommanderError, InvalidArgumentError, Option } from 'commander'

/** What every command accepts. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly profile?: string
  /** Of the commands of a host. */
  readonly data?: string
}

/** A command that does something. `example` is one line that works as it stands, without the `$ `. */
export const command = (name: string, example: string): Command => withGlobals(base(name, example))

/** A word that only groups commands: alone it is a usage error. */
export const group = (name: string, example: string): Command => base(name, example)

function base(name: string, example: string): Command {
  const made = new Command(name)
  return made
    .exitOverride((error) => {
      throw new UsageError(error, made)
    })
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', `\nexample:\n  $ ${example}`)
}

/** The options of every command, also for the root. */
export const withGlobals = (to: Command): Command =>
  to
    .option('--json', 'print wire objects as JSON')
    .option('--profile <name>', 'the identity to use (BRIDGE_PROFILE)')

/** Usage errors of values, worded like commander's own. */
export const invalid = (message: string): InvalidArgumentError => new InvalidArgumentError(message)

/** What is typed after `bridge`. */
export const wordsOf = (of: Command): string[] =>
  of.parent === null ? [] : [...wordsOf(of.parent), of.name()]

/** What commander objects to, with the command that objects. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly #command: Command
  readonly code: string
  readonly exitCode: number

  constructor({ message, code, exitCode }: CommanderError, objecting: Command) {
    super(message)
    this.#command = objecting
    this.code = code
    this.exitCode = exitCode
  }

  get command(): Command {
    return this.#command
  }
}

export { Command, Option }

/** A whole number from `min` to `max`. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw invalid(`It must be a whole number from ${min} to ${max}.`)
  }

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** An id as it stands on the wire; upper case is accepted. */
export function id(text: string): string {
  const lower = text.toLowerCase()
  if (uuid.test(lower)) return lower
  throw invalid('It must be an id (a UUID).')
}

/** Ids after one another, for a variadic argument. */
export const ids = (text: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  id(text),
]

/** One of the words. */
export const oneOf =
  <const T extends string>(words: readonly T[]) =>
  (text: string): T => {
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    throw invalid(`It must be one of ${words.join(', ')}.`)
  }

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** Seconds from `90`, `90s`, `15m`, `2h` or `1d`. */
export function seconds(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  if (match === null) throw invalid('It must be a duration like 90, 90s, 15m, 2h or 1d.')
  const unit = (match[2] === '' ? 's' : match[2]) as keyof typeof unitSeconds
  return Number(match[1]) * unitSeconds[unit]
}
