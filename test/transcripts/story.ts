/**
 * Stories: transcripts of a terminal in plain text. `test/README.md` describes the format.
 */
export interface Step {
  /** The first line as typed. */
  readonly command: string
  /** The here-document. */
  readonly stdin: string
  readonly stdout: readonly string[]
  readonly stderr: readonly string[]
  readonly exit: number
}

export interface Story {
  /** The prose in front of the first command. */
  readonly says: string
  readonly steps: readonly Step[]
}

export interface Output {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

export function readStory(text: string): Story {
  const [says = '', ...blocks] = text.split(/^\$ /m)
  return { says: says.trim(), steps: blocks.map(readStep) }
}

function readStep(block: string): Step {
  const [command = '', ...rest] = block.trimEnd().split('\n')
  const lines = rest.filter((line) => !line.startsWith('# '))
  const typed = lines.filter((line) => isTyped(line)).map((line) => line.slice(2))
  const ending = /<<'(\w+)'$/.exec(command)?.[1]
  if (typed.length > 0 && typed.at(-1) !== ending)
    throw new Error(`the here-document of "${command}" does not end`)
  const printed = lines.filter((line) => !isTyped(line))
  const exit = /^\[exit (\d+)\]$/.exec(printed.at(-1) ?? '')?.[1]
  if (exit !== undefined) printed.pop()
  return {
    command: command.replace(/ <<'\w+'$/, ''),
    stdin: typed
      .slice(0, -1)
      .map((line) => `${line}\n`)
      .join(''),
    stdout: trimmed(printed.filter((line) => !line.startsWith('! '))),
    stderr: printed.filter((line) => line.startsWith('! ')).map((line) => line.slice(2)),
    exit: Number(exit ?? 0),
  }
}

const isTyped = (line: string): boolean => line === '>' || line.startsWith('> ')

/** Without the empty lines in front of the next command. */
const trimmed = (lines: readonly string[]): readonly string[] =>
  lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)

/** Values by name: some are given, the others are what was printed where a name stood first. */
export type Values = Map<string, string>

const names = /\{([a-z][a-z-]*)\}/g

/** The text with every `{name}` replaced. */
export const fill = (text: string, values: Values): string =>
  text.replace(names, (name, word: string) => {
    const value = values.get(word)
    if (value === undefined) throw new Error(`nothing was printed for ${name} so far`)
    return value
  })

/** The words of a command line; quotes group as in a shell, and nothing is expanded. */
export const wordsOf = (line: string): string[] =>
  [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_all, single?: string, double?: string) => single ?? double ?? ''),
  )

/** Whether the output is exactly what the step shows; takes the values that it printed. */
export function isShown(step: Step, { stdout, stderr, code }: Output, values: Values): boolean {
  return holds(step.stdout, stdout, values) && holds(step.stderr, stderr, values) && code === step.exit
}

function holds(lines: readonly string[], printed: string, values: Values): boolean {
  const fresh: string[] = []
  const source = lines.map((line) => (line === '…' ? '(?:.*\\n)*?.*' : lineSource(line, values, fresh)))
  const found = new RegExp(`^${source.join('\\n')}$`).exec(printed.trimEnd())
  for (const [at, name] of fresh.entries()) if (found !== null) values.set(name, found[at + 1] ?? '')
  return found !== null
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** `…` stands for anything within a line, two or more spaces for any such number. */
function lineSource(line: string, values: Values, fresh: string[]): string {
  const parts = line.trimEnd().split(/(…|\{[a-z][a-z-]*\}| {2,})/)
  const sources = parts.map((part) => {
    if (part === '…') return '.*'
    if (/^ {2,}$/.test(part)) return ' {2,}'
    const name = /^\{([a-z-]+)\}$/.exec(part)?.[1]
    const value = name === undefined ? part : values.get(name)
    if (value !== undefined) return escaped(value)
    const before = fresh.indexOf(name ?? '')
    if (before >= 0) return `(?:\\${before + 1})`
    fresh.push(name ?? '')
    return '(\\S+?)'
  })
  return `${sources.join('')} *`
}
