/** The processes of a measurement: started, queried, and ended by their id. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Running {
  readonly port: number
  readonly pid: number
  /** Milliseconds from the start to the readiness line. */
  readonly readyMs: number
  end(): Promise<void>
}

export const beside = (name: string): string => join(import.meta.dirname, name)

/** Starts a program whose first line is its port, or a readiness line with one. */
export async function startProgram(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Running> {
  const began = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...environment },
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  const readyMs = performance.now() - began
  const port = /^\d+$/.test(line) ? Number(line) : (JSON.parse(line) as { port: number }).port
  return { port, pid: child.pid ?? 0, readyMs, end: () => endOf(child) }
}

export async function endOf(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

/** Runs one of the clients here and returns its output. */
export async function runClient<T>(name: string, ...args: readonly (string | number)[]): Promise<T> {
  const child = spawn(process.execPath, [beside(name), ...args.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  await once(child, 'close')
  return JSON.parse(line) as T
}

/** Milliseconds from the start of an empty Node program to its exit. */
export function emptyNodeMs(): number {
  const began = performance.now()
  spawnSync(process.execPath, ['-e', '0'])
  return performance.now() - began
}

/** Samples the resident set until stopped; returns its maximum minus its initial value, in MiB. */
export function watchMemory(pid: number): () => number {
  const { first, end } = watchResident(pid)
  return () => end() - first
}

/** The initial resident set, and `end`, which returns the maximum so far, in MiB. */
export function watchResident(pid: number): { readonly first: number; end(): number } {
  const resident = (): number => {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kib) / 1024
  }
  const first = resident()
  let most = first
  const timer = setInterval(() => {
    most = Math.max(most, resident())
  }, 10)
  return {
    first,
    end: () => {
      clearInterval(timer)
      return Math.max(most, resident())
    },
  }
}
