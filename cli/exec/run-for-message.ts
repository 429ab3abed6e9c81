/**
 * `listen --exec CMD`: a shell command for each message, the message's JSON on its standard input.
 *
 * Its output goes where ours goes. A listen that is interrupted ends it with all that it started, and so does one that is
 * killed; what it did not finish comes again.
 *
 * Contract §12.
 */
import type { Message } from '../../sdk/index.ts'
import { type ShellCommands, signalGroup } from './shell-commands.ts'

export interface CommandEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** From SIGTERM to SIGKILL when the listen was killed: the next one may be given the message at once. */
const graceMs = 10_000

export interface MessageCommand {
  readonly shell: ShellCommands
  readonly command: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Resolves when the command has ended. Rejects when there is no shell to run it. */
export function runForMessage(
  { shell, command, environment }: MessageCommand,
  message: Message,
  signal: AbortSignal,
): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = shell.start(command, { stdout: 'inherit', environment, graceMs })
    const end = () => signalGroup(child, 'SIGTERM')
    signal.addEventListener('abort', end, { once: true })
    child.on('error', reject)
    child.on('close', (code, endedBy) => {
      signal.removeEventListener('abort', end)
      resolve({ code, signal: endedBy })
    })
    // A command that does not read its input closes it early: that is its own affair.
    child.stdin?.on('error', () => {})
    child.stdin?.end(`${JSON.stringify(message)}\n`)
  })
}
