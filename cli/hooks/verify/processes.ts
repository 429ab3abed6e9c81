/** Bounded processes: each ends by itself, at its time limit, or with the command that started it. */
import { spawn } from 'node:child_process'
import type { Environment } from '../../context.ts'

export interface Ended {
  /** Null if a signal ended it. */
  readonly code: number | null
  readonly endedBy: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly isLate: boolean
}

export interface ProcessOptions {
  readonly environment: Environment
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly stdin?: string
  readonly cwd?: string
}

/** Runs a program in a process group of its own, and ends the whole group at the time limit. */
export function endOf(program: string, args: readonly string[], options: ProcessOptions): Promise<Ended> {
  const { environment, signal, timeoutMs, stdin = '', cwd } = options
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...environment },
      detached: true,
      ...(cwd !== undefined && { cwd }),
    })
    let isLate = false
    const end = () => endGroup(child.pid)
    const timer = setTimeout(() => {
      isLate = true
      end()
    }, timeoutMs)
    signal.addEventListener('abort', end, { once: true })
    const written = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        written[name] += text
      })
    const settle = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
    }
    child.once('error', (error) => {
      settle()
      reject(error)
    })
    child.once('close', (code, endedBy) => {
      settle()
      resolve({ code, endedBy, ...written, isLate })
    })
    // A program may end without reading its input.
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
  })
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
