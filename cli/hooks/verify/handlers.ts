/** The command lines that an installation gave to its harness, read back from the installed files. */
import { readFile } from 'node:fs/promises'
import { isObject } from '../install/entries.ts'
import type { VerifyScene } from './scene.ts'

/** One installed hook. */
export interface Handler {
  /** Name of the event in the harness. */
  readonly event: string
  /** Event that our program gets: that of the harness, or `wait`. */
  readonly runs: string
  readonly command: string
  /** Absent if the harness gives the command to a shell. */
  readonly args?: readonly string[]
}

/** Reads the handlers of ours. */
export async function handlersOf({ installed, harness }: VerifyScene): Promise<Handler[]> {
  const paths = [...installed.files, ...installed.shared].map(({ path }) => path)
  const found: Handler[] = []
  for (const path of paths) {
    const text = await readFile(path, 'utf8')
    if (path.endsWith('.js')) found.push(...pluginHandlers(text))
    else if (path.endsWith('.json')) found.push(...jsonHandlers(JSON.parse(text.replace(/^\ufeff/, ''))))
  }
  return found.filter(({ command, args = [] }) =>
    [command, ...args].join(' ').includes(`hooks run ${harness} `),
  )
}

function jsonHandlers(file: unknown): Handler[] {
  const hooks = isObject(file) && isObject(file.hooks) ? file.hooks : {}
  return Object.entries(hooks).flatMap(([event, groups]) =>
    commandsIn(groups).map(({ command, args }) => ({
      event,
      runs: (args ?? command.split(' ')).at(-1) ?? event,
      command,
      ...(args && { args }),
    })),
  )
}

interface Commands {
  readonly command: string
  readonly args?: readonly string[]
}

function commandsIn(value: unknown): Commands[] {
  if (Array.isArray(value)) return value.flatMap(commandsIn)
  if (!isObject(value)) return []
  const { command, args } = value
  if (typeof command === 'string')
    return [{ command, ...(Array.isArray(args) && { args: args.map(String) }) }]
  return Object.values(value).flatMap(commandsIn)
}

const pluginEvents = [
  'session.created',
  'chat.message',
  'tool.execute.after',
  'session.idle',
  'session.deleted',
]

/** Reads the facts at the head of our plugin for opencode. */
function pluginHandlers(text: string): Handler[] {
  const facts: unknown = JSON.parse(/^const facts = (\{[\s\S]*?^\})/m.exec(text)?.[1] ?? '{}')
  const [command, ...args] = isObject(facts) && Array.isArray(facts.hook) ? facts.hook.map(String) : []
  if (command === undefined) return []
  return [...pluginEvents, 'wait'].map((event) => ({
    event: event === 'wait' ? 'session.idle' : event,
    runs: event,
    command,
    args: [...args, event],
  }))
}
