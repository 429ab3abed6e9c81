/**
 * `listen --exec CMD`: a shell command for each message, the message's JSON on its standard input.
 *
 * Its output goes where ours goes. An interrupted listen ends it; what it did not finish comes again.
 *
 * Contract §12.
 */
import { spawn } from 'node:child_process'
import type { OfferedMessage } from '../sdk/index.ts'

export interface CommandEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Resolves when the command has ended. Rejects when there is no shell to run it. */
export function runForMessage(
  command: string,
  message: OfferedMessage,
  signal: AbortSignal,
): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['pipe', 'inherit', 'inherit'] })
    const end = () => child.kill('SIGTERM')
    signal.addEventListener('abort', end, { once: true })
    child.on('error', reject)
    child.on('close', (code, endedBy) => {
      signal.removeEventListener('abort', end)
      resolve({ code, signal: endedBy })
    })
    // A command that does not read its input closes it early: that is its own affair.
    child.stdin.on('error', () => {})
    child.stdin.end(`${JSON.stringify(message)}\n`)
  })
}
