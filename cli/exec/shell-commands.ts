/**
 * Shell commands that end with the program that started them, whatever ends that.
 *
 * - Each leads a process group of its own: it is stopped with all that it started, and control-C reaches this program alone.
 * - A program that is killed by SIGKILL stops nothing any more. So a small shell stands beside it, at the end of a pipe
 *   whose other end this program alone holds. A command writes its group into the pipe before it begins; when the pipe ends
 *   while it runs, that shell sends the group SIGTERM, and SIGKILL after a grace.
 * - What left its group (`setsid`) is reached by neither. Windows has no groups, and no such shell.
 *
 * Contract §12 `task run`, `listen --exec`.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

const shell = '/bin/sh'

/** An empty line: nothing runs any more. Signal 0 asks whether anybody is left. */
const watching = `
while read -r one two; do leader=$one grace=$two; done
[ -n "$leader" ] || exit 0
kill -s TERM -- "-$leader"
while [ "$grace" -gt 0 ]; do
  kill -s 0 -- "-$leader" || exit 0
  sleep 1
  grace=$((grace - 1))
done
kill -s KILL -- "-$leader"
`

/** Its own process becomes the command. Without a reader the pipe would end it. */
const announced = `trap '' PIPE; echo "$$ $2" >&3 2>/dev/null; trap - PIPE; exec 3>&-; exec "$0" -c "$1"`

type Environment = Readonly<Record<string, string | undefined>>

export interface ShellOptions {
  readonly stdout: 'pipe' | 'inherit'
  readonly environment: Environment
  /** From SIGTERM to SIGKILL when this program is gone. */
  readonly graceMs: number
}

/** One at a time. */
export class ShellCommands {
  #watcher: ChildProcess | undefined

  /** Its standard input is a pipe, its standard error ours. */
  start(command: string, { stdout, environment, graceMs }: ShellOptions): ChildProcess {
    const options: SpawnOptions = { detached: true, env: environment }
    const pipe = this.#pipe(environment)
    if (pipe === undefined)
      return spawn(command, { ...options, shell: true, stdio: ['pipe', stdout, 'inherit'] })
    const grace = String(Math.ceil(graceMs / 1000))
    const child = spawn(shell, ['-c', announced, shell, command, grace], {
      ...options,
      stdio: ['pipe', stdout, 'inherit', pipe],
    })
    child.once('close', () => pipe.write('\n'))
    return child
  }

  /** Nothing is started any more. */
  close(): void {
    this.#watcher?.stdin?.end()
    this.#watcher = undefined
  }

  #pipe(environment: Environment): Writable | undefined {
    if (process.platform === 'win32') return undefined
    if (this.#watcher === undefined || isOver(this.#watcher)) this.#watcher = startWatcher(environment)
    const { pid, stdin } = this.#watcher
    return pid === undefined || stdin === null ? undefined : stdin
  }
}

function startWatcher({ PATH }: Environment): ChildProcess {
  const watcher = spawn(shell, ['-c', watching], {
    detached: true,
    cwd: '/',
    env: { PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // Without one everything works as long as this program lives.
  watcher.on('error', () => {})
  watcher.stdin.on('error', () => {})
  watcher.unref()
  return watcher
}

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** To a command and all that it started. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // It has ended by itself meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
