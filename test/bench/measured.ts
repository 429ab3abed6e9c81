/**
 * Product and floor as separate processes: started with a probe, asked for their usage, and ended by their
 * id.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../support/free-port.ts'
import { program } from '../support/program.ts'

export interface Usage {
  readonly cpuMs: number
  readonly residentKiB: number
}

export interface Measured {
  readonly port: number
  usage(): Promise<Usage>
  /** The usage after a forced collection. */
  collected(): Promise<Usage>
  end(): Promise<void>
}

const probe = join(import.meta.dirname, 'probe.mjs')

type Environment = Readonly<Record<string, string>>

/**
 * Starts a program whose first line is its port, or a readiness line with one; `log` is a file for its
 * standard error.
 */
export async function startMeasured(
  args: readonly string[],
  environment: Environment = {},
  log?: string,
): Promise<Measured> {
  const errors = log === undefined ? ('inherit' as const) : openSync(log, 'a', 0o600)
  const child = spawn(process.execPath, ['--expose-gc', '--import', probe, ...args], {
    stdio: ['ignore', 'pipe', errors, 'ipc'],
    env: { PATH: process.env.PATH, ...environment },
  })
  if (typeof errors === 'number') closeSync(errors)
  if (child.stdout === null) throw new Error('the measured process has no standard output')
  const exited = once(child, 'exit')
  const line = once(createInterface(child.stdout), 'line')
  const first = await Promise.race([line, exited.then(() => undefined)])
  if (first === undefined) throw new Error(`${args[0]} ended before it was ready`)
  const text = String(first[0])
  const port = /^\d+$/.test(text) ? Number(text) : (JSON.parse(text) as { port: number }).port
  return {
    port,
    usage: () => ask(child, 'usage'),
    collected: () => ask(child, 'collected'),
    async end() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

async function ask(child: ChildProcess, question: 'usage' | 'collected'): Promise<Usage> {
  const over = new AbortController()
  const { signal } = over
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error('the measured process ended')
  })
  child.send(question)
  try {
    const [usage] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Usage]
    return usage
  } finally {
    ended.catch(() => {})
    over.abort()
  }
}

/**
 * Starts the node on a folder with an installation, with default settings and its log in a file beside it;
 * only the limits of rates and waits are lifted. `file` is another version of the program.
 */
export async function startNode(
  data: string,
  environment: Environment = {},
  file = program,
): Promise<Measured> {
  const settings = {
    ...{ data, port: String(await freePort()), max_waits: '100000' },
    ...{ rate_per_second: '1000000', rate_burst: '1000000' },
  }
  const flags = Object.entries(settings).map(([name, value]) => `--${name.replaceAll('_', '-')}=${value}`)
  return startMeasured([file, 'server', 'start', '--json', ...flags], environment, `${data}.log`)
}
