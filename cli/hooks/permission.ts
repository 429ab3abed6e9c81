/**
 * Answer to the permission prompt of Claude Code for commands and tools that read the profile's own mail.
 * Without it an unattended session that a notice woke waits for a person at `agent-bridge inbox`.
 *
 * Allowed are {@link readingTools} of our MCP server, and exactly one simple command: our program, one of
 * {@link allowed}, and words of plain characters. Everything else is left to the harness's own rules.
 */

import { calledAs } from '../terminal/as-typed.ts'

/** Only `ack` changes a state: that of the messages that it names. */
const allowed = ['inbox', 'ack', 'status', 'history', 'peers', 'whoami', 'guide']

/** Tools of `bridge mcp` that do nothing but read the profile's own mail and acknowledge it. */
export const readingTools = ['inbox', 'ack', 'history', 'peers']

/** Claude Code's names of the tools of the MCP server in our plugin begin with it. */
export const toolPrefix = 'mcp__plugin_agent-bridge_agent-bridge__'

/** Words without white space other than a blank, and without any character that a shell interprets. */
const plainWords = /^[A-Za-z0-9._/-]+(?: [A-Za-z0-9._-]+)*$/

export interface PermissionOptions {
  /** Path of the program that runs. */
  readonly program: string
  /** Profile of the session, if it has one. */
  readonly profile: string | undefined
  /** Resolves links. @throws if the path does not exist. */
  readonly realPath: (path: string) => string
}

/** Returns whether the call of a tool does nothing but run one of our reading commands or tools. */
export function readsOwnMail(tool: unknown, input: unknown, options: PermissionOptions): boolean {
  if (readingTools.some((name) => tool === toolPrefix + name)) return true
  if (tool !== 'Bash' || typeof input !== 'object' || input === null) return false
  const { command, ...others } = input as Record<string, unknown>
  const isOrdinary = Object.keys(others).every((name) => ordinaryFields.has(name))
  return isOrdinary && typeof command === 'string' && isAllowed(command, options)
}

/** Other fields can change how the command runs, such as `dangerouslyDisableSandbox`. */
const ordinaryFields: ReadonlySet<string> = new Set(['description', 'timeout', 'run_in_background'])

function isAllowed(command: string, options: PermissionOptions): boolean {
  if (!plainWords.test(command)) return false
  const [program = '', name = '', ...words] = command.split(' ')
  // Another profile is another identity, whose mail the session was not told of.
  const isOwn = words.every((word, at) => !word.startsWith('--profile') || isOwnProfile(words, at, options))
  // Another process of the profile may have printed messages that the session has not seen.
  const isNamed = !words.includes('--all')
  return (
    allowed.includes(name) &&
    isOwn &&
    isNamed &&
    (program === 'agent-bridge' || isThisProgram(program, options))
  )
}

const isOwnProfile = (words: readonly string[], at: number, { profile }: PermissionOptions): boolean =>
  words[at] === '--profile' && profile !== undefined && words[at + 1] === profile

function isThisProgram(path: string, { program, realPath }: PermissionOptions): boolean {
  if (!path.startsWith('/')) return false
  // The client package installs a launcher beside its first file.
  const launcher = calledAs(program)
  try {
    return path === launcher || realPath(path) === realPath(program)
  } catch {
    return false
  }
}

export const permissionOutput = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'allow',
    permissionDecisionReason: 'agent-bridge: reads the mail of this session',
  },
}
