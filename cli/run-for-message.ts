/**
 * `listen --exec CMD`: a shell command for each message, the message's JSON on its standard input.
 *
 * Its output goes where ours goes. An interrupted listen ends it with all that it started, which is why it has a process
 * group of its own; what it did not finish comes again.
 *
 * Contract §12.
 */
import { spawn } from 'node:child_process'
import type { Message } from '../sdk/index.ts'

export interface CommandEnd {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Resolves when the command has ended. Rejects when there is no shell to run it. */
export function runForMessage(command: string, message: Message, signal: AbortSignal): Promise<CommandEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, detached: true, stdio: ['pipe', 'inherit', 'inherit'] })
    const end = () => endGroup(child.pid)
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

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGTERM')
  } catch (error) {
    // It has ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
