/**
 * Factory of every command: commander with our rules.
 *
 * - Commander never exits or prints by itself. `exitOverride` is set on every command, because it is not
 *   inherited.
 * - Every command accepts `--json` and `--profile`, before or after its name.
 * - Every help text ends with one working example.
 *
 * Contract §12.
 */
import { Command, type CommanderError, InvalidArgumentError, Option } from 'commander'

/** Options that every command accepts. */
export interface GlobalOptions {
  readonly json?: boolean
  readonly profile?: string
  /** Data folder; only for the `server` commands. */
  readonly data?: string
}

/** Creates a command that can be run. `example` is one line that works when pasted, without the `$ `. */
export const command = (name: string, example: string): Command => withGlobals(base(name, example))

/** Creates a word that only groups commands. Typed alone, it is a usage error. */
export const group = (name: string, example: string): Command => base(name, example)

function base(name: string, example: string): Command {
  const made = new Command(name)
  return made
    .exitOverride((error) => {
      throw new UsageError(error, made)
    })
    .helpOption('-h, --help', 'show this help')
    .addHelpText(
      'after',
      () => `\nexample:\n  $ ${example.replaceAll(/\bbridge (?=[a-z])/g, `${rootOf(made).name()} `)}`,
    )
}

const rootOf = (command: Command): Command => (command.parent === null ? command : rootOf(command.parent))

/** Adds the options that every command has, and the root too. */
export const withGlobals = (to: Command): Command =>
  to
    .option('--json', 'print API objects as JSON')
    .option('--profile <name>', 'the identity to use (BRIDGE_PROFILE)')

/** Creates a usage error for a value, worded like those of commander. */
export const invalid = (message: string): InvalidArgumentError => new InvalidArgumentError(message)

/** Returns the words typed after `bridge` that name this command. */
export const wordsOf = (of: Command): string[] =>
  of.parent === null ? [] : [...wordsOf(of.parent), of.name()]

/** Usage error that commander found, with the command it belongs to. */
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

/** Returns a parser of whole numbers from `min` to `max`. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw invalid(`It must be a whole number from ${min} to ${max}.`)
  }

/** Returns a parser that accepts one of the words. */
export const oneOf =
  <const T extends string>(words: readonly T[]) =>
  (text: string): T => {
    const word = words.find((candidate) => candidate === text)
    if (word !== undefined) return word
    throw invalid(`It must be one of ${words.join(', ')}.`)
  }

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 } as const

/** Parses a command for a shell. An empty one would succeed for every message and task without doing anything. */
export function shellCommand(text: string): string {
  if (text.trim() === '') throw invalid('It is empty.')
  return text
}

/** Parses a duration such as `90`, `90s`, `15m`, `2h` or `1d`. Returns seconds. */
export function seconds(text: string): number {
  const match = /^(\d{1,9})([smhd]?)$/.exec(text)
  if (match === null) throw invalid('It must be a duration like 90, 90s, 15m, 2h or 1d.')
  const unit = (match[2] === '' ? 's' : match[2]) as keyof typeof unitSeconds
  return Number(match[1]) * unitSeconds[unit]
}
