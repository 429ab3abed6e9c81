/**
 * `listen --exec CMD`: runs a shell command for each message, with the message as JSON on its standard input.
 *
 * The command inherits our standard output and standard error. If the listen is interrupted or killed, the
 * command and every process in its group get SIGTERM, and SIGKILL after 10 seconds. Its message stays
 * unacknowledged, so a later listen delivers it again.
 *
 * Contract §12.
 */
import type { Message } from '../../sdk/index.ts'
import { type ShellCommands, stopper } from './shell-commands.ts'

export interface CommandEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Time from SIGTERM to SIGKILL; short, since the next listen may get the same message. */
const defaultGraceMs = 10_000

export interface MessageCommand {
  readonly shell: ShellCommands
  readonly command: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Runs the command. Resolves when it has ended; rejects if the shell cannot be started. */
export function runForMessage(
  { shell, command, environment }: MessageCommand,
  message: Message,
  signal: AbortSignal,
  graceMs = defaultGraceMs,
): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = shell.start(command, { stdout: 'inherit', environment, graceMs })
    const stop = stopper(child, () => graceMs)
    signal.addEventListener('abort', stop.now, { once: true })
    child.on('error', reject)
    child.on('close', (code, endedBy) => {
      signal.removeEventListener('abort', stop.now)
      stop.dispose()
      resolve({ code, signal: endedBy })
    })
    // A command may exit without reading its input. The resulting EPIPE is not a failure.
    child.stdin?.on('error', () => {})
    child.stdin?.end(`${JSON.stringify(message)}\n`)
  })
}
