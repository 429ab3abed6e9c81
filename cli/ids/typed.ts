/**
 * Replaces `last` and the ends of ids in a command line by whole ids, before the command runs.
 *
 * The kind follows from the name of the argument or of the option's value, such as `<task_id>` or `<agent>`.
 * Where a name is accepted too, the name wins.
 *
 * Contract §12.
 */
import type { Argument, Command, Option } from 'commander'
import { wordsOf } from '../command.ts'
import { CommandError } from '../exit-codes.ts'
import { ending, type FoundId, type Kind, kinds, kindWord, wholeId } from './kinds.ts'
import type { SeenIds } from './seen.ts'

interface Accepted {
  /** `last` means the first of these kinds. */
  readonly kinds: readonly Kind[]
  /** Whether a name, or another word such as `owner`, is accepted too. */
  readonly orName?: true
}

const agents: Accepted = { kinds: ['agent'], orName: true }

const accepted = {
  message_id: { kinds: ['message'] },
  task_id: { kinds: ['task'] },
  transfer_id: { kinds: ['transfer'] },
  conversation_id: { kinds: ['conversation'] },
  enrollment_id: { kinds: ['enrollment'] },
  credential_id: { kinds: ['credential'] },
  session_id: { kinds: ['session'] },
  record_id: { kinds: ['record'] },
  object_id: { kinds },
  agent: agents,
  peer: agents,
  other: agents,
  project: { kinds: ['project'], orName: true },
  environment: { kinds: ['environment'], orName: true },
  administrator: { kinds: ['administrator'], orName: true },
  actor: { kinds: ['agent', 'administrator'], orName: true },
  conversation: { kinds: ['conversation', 'agent'], orName: true },
} as const satisfies Readonly<Record<string, Accepted>>

/** Name of an argument that takes an id. */
export type IdArgument = keyof typeof accepted

const acceptedBy = (name: string): Accepted | undefined =>
  Object.hasOwn(accepted, name) ? accepted[name as IdArgument] : undefined

/** Commands for which `last` is the last message of somebody else. */
const received: ReadonlySet<string> = new Set(['ack', 'reply', 'admin ack', 'admin reply'])

/** @throws CommandError for an end that is unknown or ambiguous */
export function resolveIds(command: Command, seen: SeenIds): void {
  const resolver = { seen, ofOthers: received.has(wordsOf(command).join(' ')) }
  for (const [at, argument] of command.registeredArguments.entries()) {
    const takes = acceptedBy(nameOf(argument))
    if (takes === undefined) continue
    command.processedArgs[at] = resolved(resolver, command.processedArgs[at], takes)
  }
  for (const option of command.options) {
    const takes = acceptedBy(valueName(option))
    if (takes === undefined) continue
    const name = option.attributeName()
    const value: unknown = command.getOptionValue(name)
    if (value !== undefined) command.setOptionValue(name, resolved(resolver, value, takes))
  }
}

/** Replaces `last` or the end of an id of this kind, for a command whose first argument names the kind. */
export const idOfKind = (seen: SeenIds, text: string, kind: Kind): string =>
  idFor({ seen, ofOthers: false }, text, acceptedBy(kind) ?? { kinds: [kind] })

/** Replaces `last` or the end of an id in a value that is no argument of a command line. */
export const idOfArgument = (
  seen: SeenIds,
  text: string,
  { name, ofOthers = false }: { readonly name: IdArgument; readonly ofOthers?: boolean },
): string => idFor({ seen, ofOthers }, text, accepted[name])

const nameOf = (argument: Argument): string => argument.name()
const valueName = ({ flags }: Option): string => /<([a-z_]+)(?:\.\.\.)?>/.exec(flags)?.[1] ?? ''

interface Resolver {
  readonly seen: SeenIds
  readonly ofOthers: boolean
}

function resolved(resolver: Resolver, value: unknown, takes: Accepted): unknown {
  if (Array.isArray(value)) return value.map((each) => resolved(resolver, each, takes))
  return typeof value === 'string' ? idFor(resolver, value, takes) : value
}

function idFor({ seen, ofOthers }: Resolver, text: string, { kinds: of, orName }: Accepted): string {
  if (wholeId.test(text) || !(text === 'last' || ending.test(text))) return text
  const known = of.flatMap((kind) => seen.all(kind))
  if (orName === true && known.some(({ word }) => word === text)) return text
  if (text === 'last') return lastOf(known, of, ofOthers) ?? (orName ? text : fail(noneYet(of)))
  const found = endingIn(known, text)
  const [only, ...more] = found
  if (only !== undefined) return more.length === 0 ? only.id : fail(ambiguous(seen, found))
  if (orName === true) return text
  const [elsewhere] = endingIn(
    kinds.flatMap((kind) => seen.all(kind)),
    text,
  )
  return fail(elsewhere === undefined ? unknown(of) : otherKind(elsewhere, of))
}

const digits = (text: string): string => text.replaceAll('-', '').toLowerCase()

/** The ids with this end, each once, in its latest form. */
function endingIn(known: readonly FoundId[], text: string): FoundId[] {
  const end = digits(text)
  return [
    ...new Map(known.filter(({ id }) => digits(id).endsWith(end)).map((each) => [each.id, each])).values(),
  ]
}

function lastOf(known: readonly FoundId[], [kind]: readonly Kind[], ofOthers: boolean): string | undefined {
  return known.findLast(
    ({ kind: its, how }) => its === kind && how !== 'named' && !(how === 'mine' && ofOthers),
  )?.id
}

function fail(error: CommandError): never {
  throw error
}

const article = (of: readonly Kind[]): string => {
  const word = of.length === 1 && of[0] !== undefined ? kindWord(of[0]) : 'object'
  return `${/^[aeio]/.test(word) ? 'an' : 'a'} ${word}`
}

const noneYet = (of: readonly Kind[]): CommandError =>
  new CommandError('not_found', `this profile has not printed ${article(of)} yet`, {
    hint: 'list them first, or give the id',
  })

const unknown = (of: readonly Kind[]): CommandError =>
  new CommandError('not_found', `this profile has not printed ${article(of)} whose id ends like this`, {
    hint: 'list them first, or give the whole id',
  })

const otherKind = ({ kind }: FoundId, of: readonly Kind[]): CommandError =>
  new CommandError(
    'usage',
    `this is the end of the id of ${article([kind])}; the command takes ${article(of)}`,
  )

function ambiguous(seen: SeenIds, found: readonly FoundId[]): CommandError {
  const candidates = found.map(({ kind, id, word }) =>
    [kindWord(kind), seen.short(kind, id, found), ...(word === '' ? [] : [`(${word})`])].join(' '),
  )
  return new CommandError('usage', `more than one id ends like this: ${candidates.join(', ')}`, {
    hint: 'give more of the end',
  })
}
