/**
 * Runs shell commands, and stops them when this program ends, also by SIGKILL.
 *
 * - Each command leads its own process group, so it is stopped together with every process it started. Ctrl-C
 *   reaches this program only.
 * - A program killed by SIGKILL cannot stop its commands. A small watcher shell therefore reads from a pipe
 *   whose write end only this program holds. Each command writes its group id into the pipe before it starts.
 *   If the pipe closes while the command runs, the watcher sends the group SIGTERM, and SIGKILL after a grace
 *   period.
 *
 * Exceptions:
 *
 * - A process that left the group (`setsid`) is not stopped.
 * - Windows has no process groups, so there is no watcher. If the watcher cannot start, there is none either.
 *   SIGKILL of this program then leaves its commands running.
 *
 * Contract §12 `task run`, `listen --exec`.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import type { Writable } from 'node:stream'

const shell = '/bin/sh'

/**
 * Script of the watcher. An empty line means that the command has ended. Signal 0 tests whether the group
 * still exists.
 */
const watcherScript = `
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

/**
 * Announces the group to the watcher, then becomes the command. Ignores SIGPIPE meanwhile: the watcher may be
 * gone.
 */
const announcingScript = `trap '' PIPE; echo "$$ $2" >&3 2>/dev/null; trap - PIPE; exec 3>&-; exec "$0" -c "$1"`

type Environment = Readonly<Record<string, string | undefined>>

export interface ShellOptions {
  readonly stdout: 'pipe' | 'inherit'
  readonly environment: Environment
  /** Time from SIGTERM to SIGKILL after this program has died. */
  readonly graceMs: number
}

/** Starts shell commands, one at a time, and the watcher that outlives this program. */
export class ShellCommands {
  #watcher: ChildProcess | undefined

  /** Starts a command. Its standard input is a pipe; its standard error is inherited. */
  start(command: string, { stdout, environment, graceMs }: ShellOptions): ChildProcess {
    const options: SpawnOptions = { detached: true, env: environment }
    const pipe = this.#pipe(environment)
    if (pipe === undefined)
      return spawn(command, { ...options, shell: true, stdio: ['pipe', stdout, 'inherit'] })
    const grace = String(Math.ceil(graceMs / 1000))
    const child = spawn(shell, ['-c', announcingScript, shell, command, grace], {
      ...options,
      stdio: ['pipe', stdout, 'inherit', pipe],
    })
    child.once('close', () => pipe.write('\n'))
    return child
  }

  /** Ends the watcher. Call it after the last command has ended. */
  close(): void {
    this.#watcher?.stdin?.end()
    this.#watcher = undefined
  }

  #pipe(environment: Environment): Writable | undefined {
    if (process.platform === 'win32') return undefined
    if (this.#watcher === undefined || hasExited(this.#watcher)) this.#watcher = startWatcher(environment)
    const { pid, stdin } = this.#watcher
    return pid === undefined || stdin === null ? undefined : stdin
  }
}

function startWatcher({ PATH }: Environment): ChildProcess {
  const watcher = spawn(shell, ['-c', watcherScript], {
    detached: true,
    cwd: '/',
    env: { PATH },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  // If the watcher cannot start, commands still run. They are then not stopped if SIGKILL ends this program.
  watcher.on('error', () => {})
  watcher.stdin.on('error', () => {})
  watcher.unref()
  return watcher
}

const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null

/** Time for the last output of a stopped command. A process that left the group may hold its pipe open. */
const lastOutputMs = 1000

/** Stops a command and every process in its group, which get SIGTERM, and SIGKILL after the grace period. */
export function stopper(child: ChildProcess, graceMs: () => number) {
  let timer: NodeJS.Timeout | undefined
  const kill = () => signalGroup(child, 'SIGKILL')
  const exited = () => {
    kill()
    clearTimeout(timer)
    timer = setTimeout(() => child.stdout?.destroy(), lastOutputMs)
  }
  return {
    now: () => {
      signalGroup(child, 'SIGTERM')
      timer = setTimeout(kill, graceMs())
      // When the command exits, kill what remains of its group at once.
      child.once('exit', exited)
      if (hasExited(child)) exited()
    },
    dispose: () => clearTimeout(timer),
  }
}

/**
 * Sends a signal to a command and every process in its group. A command that became another user, as `sudo`
 * does, cannot be signalled. It runs to its end.
 */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // ESRCH: the group has already ended.
    if (!/^(ESRCH|EPERM)$/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}
