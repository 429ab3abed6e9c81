/**
 * Commands in our own sentences, spelled so that they work when they are pasted.
 *
 * A command gets the profile and the data folder of the command that prints it, and `npx` where npx ran that one.
 * Without them it would speak for another profile, or for the node of another folder.
 *
 * Contract §12.
 */

export interface Spelling {
  /** Absent where the command needs none. */
  readonly profile?: string | undefined
  readonly data?: string | undefined
  readonly byNpx?: boolean | undefined
}

/** Words that only group commands; what follows them belongs to the name. */
export const groups: ReadonlySet<string> = new Set([
  ...['task', 'transfer', 'key', 'session', 'outbox', 'admin', 'server'],
  ...['administrator', 'agent', 'credential', 'enrollment', 'environment', 'pairing', 'project'].map(
    (noun) => `admin ${noun}`,
  ),
  ...['admin task', 'admin transfer'],
])

/** Commands that stand alone. */
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
  ...['status', 'guide', 'schedule', 'doctor'],
])

/** The same sentence with each command as it has to be typed. */
export const asTyped = (text: string, spelling: Spelling): string =>
  text.replace(/\bbridge ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*){0,2})/g, (whole, words: string, at: number) => {
    const path = pathOf(words.split(' '))
    const asksForHelp = text.startsWith(' --help', at + whole.length)
    if (path === undefined || asksForHelp) return whole
    return `${spelling.byNpx === true ? 'npx ' : ''}bridge ${path}${optionOf(path, spelling)}${words.slice(path.length)}`
  })

/** The words that name a command, of those that follow `bridge`; undefined where it is another bridge. */
function pathOf(words: readonly string[]): string | undefined {
  const [first = ''] = words
  if (single.has(first) || first === 'help') return first
  if (!groups.has(first)) return undefined
  const two = words.slice(0, 2).join(' ')
  const path = groups.has(two) ? words.slice(0, 3).join(' ') : two
  return groups.has(path) ? undefined : path
}

function optionOf(path: string, { profile, data }: Spelling): string {
  if (path === 'help') return ''
  if (path.startsWith('server ')) return data === undefined ? '' : ` --data ${shellWord(data)}`
  return profile === undefined ? '' : ` --profile ${shellWord(profile)}`
}

/** One word for a shell. */
export const shellWord = (word: string): string =>
  /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
