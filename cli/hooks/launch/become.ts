/**
 * Turns this process into another program.
 *
 * - On a terminal the program takes the place of this process. So the terminal, signals, job control and the
 *   exit code reach it directly.
 * - Otherwise it is a child, because Node has made pipes non-blocking, which many programs cannot write to.
 *   Node undoes it for a child. Signals are passed on, and the end of the child becomes ours.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { CliContext, Environment } from '../../context.ts'
import { CommandError } from '../../exit-codes.ts'

export interface Program {
  readonly path: string
  readonly args: readonly string[]
}

/** Never returns if the program starts. */
export async function become(
  { io }: CliContext,
  { path, args }: Program,
  environment: Environment,
): Promise<void> {
  await io.drained()
  const { stdin, stdout, stderr } = io.isTerminal
  if (stdin && stdout && stderr && process.execve !== undefined)
    process.execve(path, [path, ...args], definedOf(environment))
  const child = spawn(path, args, { stdio: 'inherit', env: { ...environment } })
  // A terminal sends control-C to the child too.
  const hasTerminal = stdin || stdout || stderr
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.removeAllListeners(name)
    process.on(name, () => {
      if (!hasTerminal || !/INT|QUIT/.test(name)) child.kill(name)
    })
  }
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new CommandError('unexpected', `cannot start ${path}: ${cause.message}`, { cause })),
    )
    child.once('close', (exit, signal) =>
      resolve(exit ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
  process.exit(code)
}

const definedOf = (environment: Environment): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
