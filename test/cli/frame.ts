/** The program in this process, without a node: arguments in, exit code and output out. */
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { CliContext, Environment } from '../../cli/context.ts'
import { createContext } from '../../cli/create-context.ts'
import { run } from '../../cli/run.ts'

export interface Framed {
  readonly context: CliContext
  readonly interruption: AbortController
  readonly stdin: PassThrough
  readonly written: { readonly stdout: string; readonly stderr: string }
}

export function framed(environment: Environment = {}, stdout = new PassThrough()): Framed {
  const stdin = new PassThrough()
  const stderr = new PassThrough()
  const written = { stdout: '', stderr: '' }
  stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text
  })
  stderr.setEncoding('utf8').on('data', (text: string) => {
    written.stderr += text
  })
  const interruption = new AbortController()
  const context = createContext({
    streams: { stdin, stdout, stderr },
    environment: { BRIDGE_HOME: '/dev/null/no-home', ...environment },
    clock: () => new Date('2026-01-01T12:00:00.000Z'),
    random: randomBytes,
    homeDirectory: '/home/ada',
    interruption,
  })
  return { context, interruption, stdin, written }
}

export async function runHere(argv: readonly string[], environment: Environment = {}) {
  const { context, stdin, written } = framed(environment)
  stdin.end()
  const code = await run(argv, context)
  return { code, ...written }
}
