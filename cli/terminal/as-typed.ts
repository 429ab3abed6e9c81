/**
 * Rewrites the commands that our hints name, so that they work when pasted.
 *
 * Each command gets the profile and the data folder of the command that prints the hint, and `npx` if npx ran
 * it. Without them it would act for another profile, or on the node of another data folder.
 *
 * Contract §12.
 */
import { shellWord } from '../../sdk/contract/spelling.ts'

export interface Spelling {
  /** Absent for the default profile. */
  readonly profile?: string | undefined
  readonly data?: string | undefined
  readonly byNpx?: boolean | undefined
  /** How the program was called, if not as `bridge`. */
  readonly program?: string | undefined
}

/**
 * Returns how the program was called, by the path of its first file. `bridge` may be another program of the machine, so
 * what was called by another name or path names itself so. The launcher that the client package installs starts the
 * file of its own name.
 */
export function calledAs(file = ''): string | undefined {
  const launcher = /^(.*[\\/]agent-bridge)\.cjs$/.exec(file)?.[1]
  return launcher ?? (/[\\/]agent-bridge$/.test(file) ? 'agent-bridge' : undefined)
}

/** Words that group commands. The next word is part of the command's name. */
export const groups: ReadonlySet<string> = new Set([
  ...['task', 'transfer', 'key', 'session', 'outbox', 'hooks', 'admin', 'server'],
  ...['administrator', 'agent', 'credential', 'enrollment', 'environment', 'pairing', 'project'].map(
    (noun) => `admin ${noun}`,
  ),
  ...['admin task', 'admin transfer'],
])

/** Commands of one word. */
export const single: ReadonlySet<string> = new Set([
  ...[
    'enroll',
    'whoami',
    'peers',
    'conversations',
    'listen',
    'inbox',
    'send',
    'ask',
    'reply',
    'ack',
    'history',
  ],
  ...['status', 'guide', 'schedule', 'doctor', 'mcp', 'run', 'up'],
])

/** Returns the text with each command spelled so that it can be pasted. */
export const asTyped = (text: string, spelling: Spelling): string =>
  text.replace(
    // The name of the next command is no word of this one.
    /\b((?:agent-)?bridge) ((?:[a-z][a-z-]*)(?: (?!(?:agent-)?bridge\b)[a-z][a-z-]*){0,2})/g,
    (whole, name: string, words: string, at: number) => {
      const path = pathOf(words.split(' '))
      const asksForHelp = text.startsWith(' --help', at + whole.length)
      if (path === undefined || asksForHelp) return whole
      const called = spelling.program === undefined ? name : shellWord(spelling.program)
      return `${spelling.byNpx === true ? 'npx ' : ''}${called} ${path}${optionOf(path, spelling)}${words.slice(path.length)}`
    },
  )

/**
 * Returns those words after `bridge` that name a command. Undefined means that none does, as in "a bridge of
 * words".
 */
function pathOf(words: readonly string[]): string | undefined {
  const [first = ''] = words
  if (single.has(first) || first === 'help') return first
  if (!groups.has(first)) return undefined
  const two = words.slice(0, 2).join(' ')
  const path = groups.has(two) ? words.slice(0, 3).join(' ') : two
  return groups.has(path) ? undefined : path
}

function optionOf(path: string, { profile, data }: Spelling): string {
  // Without the option, `hooks install` keeps the profile of the installation, which may be another one.
  if (path === 'help' || path.startsWith('hooks ')) return ''
  if (path === 'up' || path.startsWith('server '))
    return data === undefined ? '' : ` --data ${shellWord(data)}`
  return profile === undefined ? '' : ` --profile ${shellWord(profile)}`
}
