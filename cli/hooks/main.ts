/**
 * The process of a hook: standard input, deadline, exit. The launcher loads it without the command tree, which
 * would take most of the time of a hook that runs after every tool.
 */
import { writeSync } from 'node:fs'
import { homedir } from 'node:os'
import { profilesHome } from '../../sdk/profile/profile-files.ts'
import { type HookContext, HookFailure } from './context.ts'
import { longestInput } from './input.ts'
import { runHook } from './run.ts'

/** Milliseconds after the start of the process at which requests are given up, and at which it exits. */
const deadlineMs = 2600
const exitMs = 2900

/** Runs a hook and exits. `words` follow `hooks run`. */
export async function hookMain(words: readonly string[]): Promise<never> {
  const ended = new AbortController()
  const isWaiter = words.includes('wait')
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, () => process.exit(0))
  if (isWaiter) {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => ended.abort())
  } else {
    const after = (ms: number) => Math.max(0, ms - elapsedMs())
    const late = new HookFailure('deadline', 'no answer within the time of a hook')
    setTimeout(() => ended.abort(late), after(deadlineMs))
    setTimeout(() => process.exit(0), after(exitMs))
  }
  return process.exit(await runHook(processContext(ended.signal), words))
}

const processContext = (signal: AbortSignal): HookContext => ({
  environment: process.env,
  home: profilesHome(process.env, homedir()),
  workingDirectory: workingDirectory(),
  clock: () => new Date(),
  random: (bytes) => process.getBuiltinModule('node:crypto').randomBytes(bytes),
  process: { pid: process.pid, parent: process.ppid },
  program: process.argv[1] ?? '',
  signal,
  elapsedMs,
  input: () => wholeInput(process.stdin, signal),
  out: (text) => void writeSync(1, text),
  err: (text) => void writeSync(2, text),
})

/** Unlike `performance`, which would load more than all the rest, it needs no module. */
const elapsedMs = (): number => process.uptime() * 1000

/** The working folder, or the root if it was removed. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    return '/'
  }
}

/** Reads everything, also what is too long, because a closed pipe is an error for some harnesses. */
async function wholeInput(stdin: NodeJS.ReadStream, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  await new Promise<void>((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    stdin.on('error', reject).on('end', resolve)
    stdin.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= longestInput) chunks.push(chunk)
    })
  })
  if (length > longestInput) throw new HookFailure('invalid_input', 'standard input is too long')
  return Buffer.concat(chunks).toString('utf8')
}
