/** `bridge helper` as a separate process, as it is published; ended by its id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { ReadinessLine } from '../../sdk/contract/helper/endpoints.ts'
import { childrenOf } from '../support/child-processes.ts'
import { program } from '../support/program.ts'
import { freshToken } from './files.ts'

export interface ProcessOptions {
  readonly token?: string | undefined
  readonly uid?: number | undefined
  /** A program, with its arguments, that runs the helper. */
  readonly under?: readonly string[] | undefined
  /** Options of `bridge` before the command. The launcher then leaves the helper to the command tree. */
  readonly before?: readonly string[] | undefined
  /** Leaves the standard input of the helper open, as `child.stdin`. */
  readonly hasInput?: boolean | undefined
}

export interface HelperProcess {
  readonly child: ChildProcess
  readonly token: string
  /** Undefined if the start failed. */
  readonly readiness: ReadinessLine | undefined
  /** All standard output and standard error so far. */
  readonly said: { out: string; err: string }
  readonly ended: Promise<number | NodeJS.Signals>
  kill(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>
}

export async function spawnHelper(
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<HelperProcess> {
  const token = options.token ?? freshToken()
  const [command = process.execPath, ...before] = [...(options.under ?? []), process.execPath]
  const child = spawn(command, [...before, program, ...(options.before ?? []), 'helper', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // One thread for files, so that the calls of a traced helper can be counted.
    env: {
      PATH: process.env.PATH,
      SERVICE_TRANSFER_TOKEN: token,
      ...(options.under && { UV_THREADPOOL_SIZE: '1' }),
    },
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
  })
  if (options.hasInput !== true) child.stdin.end()
  const said = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text
  })
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  const line = once(createInterface(child.stdout), 'line')
  const first = await Promise.race([line, ended])
  const readiness = Array.isArray(first) ? (JSON.parse(String(first[0])) as ReadinessLine) : undefined
  return {
    child,
    token,
    readiness,
    said,
    ended,
    kill: (signal = 'SIGKILL') => {
      if (options.under === undefined) child.kill(signal)
      else killChildOf(child.pid, signal)
      return ended
    },
  }
}

/** Kills the helper under another program, which exits with it. */
function killChildOf(pid: number | undefined, signal: NodeJS.Signals): void {
  const [helper] = childrenOf(pid ?? 0)
  try {
    if (helper !== undefined) process.kill(helper, signal)
  } catch {
    // The process has exited already.
  }
}
