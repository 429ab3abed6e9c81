/**
 * Describes the usage errors of commander in our words.
 *
 * A typed value may be a secret that belongs on standard input, so no value of an argument or option is
 * repeated. An unknown command or option is repeated only if it has the form of one.
 *
 * Contract §12 "Tokens come from standard input".
 */
import { type Command, type UsageError, wordsOf } from '../command.ts'
import type { ExitReport } from './exit-report.ts'
import { suggestion } from './suggestions.ts'

/**
 * Returns the report for an error of commander. Help and version are successes, all others are usage errors.
 */
export async function usageReport(error: UsageError, whole: () => Promise<Command>): Promise<ExitReport> {
  const { command, code, exitCode, message: given } = error
  if (exitCode === 0) return { exit: 'done' }
  // A group without a command: commander has already printed its help.
  if (code === 'commander.help') return { exit: 'usage' }
  const [first = '', similar] = given.split('\n')
  const message = wordsFor(code, first.replace(/^error: /, ''), command)
  const meant =
    code === 'commander.unknownCommand'
      ? await meantBy(first, command, whole)
      : similar?.replace(/^\((.*)\)$/, '$1').toLowerCase()
  return { exit: 'usage', error: 'usage', message, hint: meant ?? hintFor(code, message, command) }
}

/** Suggests a command. Loads the whole tree, because the current one has only the typed command. */
async function meantBy(
  message: string,
  command: Command,
  whole: () => Promise<Command>,
): Promise<string | undefined> {
  const word = typedWord(message)
  return word === undefined ? undefined : suggestion(word, command, await whole())
}

/** Returns the unknown word if it cannot be a secret. */
const typedWord = (message: string): string | undefined => {
  const word = /'(.*)'$/s.exec(message)?.[1] ?? ''
  return /^[a-z][a-z-]{0,19}$/.test(word) ? word : undefined
}

function wordsFor(code: string, message: string, command: Command): string {
  if (code === 'commander.excessArguments') {
    const count = command.registeredArguments.length
    const takes = count === 0 ? 'none' : `at most ${count}`
    return `too many arguments for '${typed(command)}': it takes ${takes}`
  }
  if (code === 'commander.unknownCommand') {
    const word = typedWord(message)
    return word === undefined ? 'unknown command' : `unknown command '${word}'`
  }
  if (code === 'commander.unknownOption') {
    const flag = /'(-{1,2}[A-Za-z][A-Za-z-]{0,29})(=.*)?'$/s.exec(message)?.[1]
    return flag === undefined ? 'unknown option' : `unknown option '${flag}'`
  }
  // "command-argument value 'x' is invalid for argument 'y'. …", "option '--y <z>' argument 'x' is invalid.
  // …"
  return message
    .replace(
      /^command-argument value '.*' is invalid for argument '([a-z_]+)'/s,
      "the argument '$1' is invalid",
    )
    .replace(/^(option '[^']*') argument '.*' is invalid/s, '$1 is invalid')
}

function hintFor(code: string, message: string, command: Command): string {
  const help = command.parent === null ? 'bridge --help' : `bridge ${typed(command)} --help`
  if (code === 'commander.unknownCommand') {
    return command.parent === null ? `${help} lists the commands` : `${help} lists its commands`
  }
  const id = /argument '([a-z]+_id)'/.exec(message)?.[1]
  const shows = id === undefined ? undefined : idsShownBy(id, command)
  if (shows !== undefined) return shows
  if (code !== 'commander.excessArguments') return `${help} shows how`
  if (takes(command, 'text')) return `put the text in quotes: ${exampleOf(command)}`
  const readsSecret = /\b(code|password|link|secret|token)\b.* standard input/i.test(
    [command.description(), ...command.options.map((option) => option.description)].join(' '),
  )
  return readsSecret ? `codes and passwords come on standard input; ${help} shows how` : `${help} shows how`
}

/** Names the commands that list ids of this kind. */
function idsShownBy(id: string, command: Command): string | undefined {
  const isOwners = typed(command).startsWith('admin ')
  if (id === 'message_id')
    return isOwners
      ? 'bridge admin inbox and bridge admin history show the ids'
      : 'bridge inbox and bridge history show the ids'
  const list = command.parent?.commands.find((sibling) => sibling.name() === 'list')
  return list === undefined ? undefined : `bridge ${typed(list)} shows the ids`
}

const takes = (command: Command, argument: string): boolean =>
  command.registeredArguments.some((registered) => registered.name() === argument)

/** `bridge send <peer> '…'` */
const exampleOf = (command: Command): string =>
  ['bridge', typed(command), ...command.registeredArguments.map((argument) => textOr(argument.name()))].join(
    ' ',
  )

const textOr = (argument: string): string => (argument === 'text' ? "'…'" : `<${argument}>`)

const typed = (command: Command): string => wordsOf(command).join(' ')
