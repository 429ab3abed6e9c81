/**
 * The process of the harness that runs a hook or a command. A waiter ends with it, a session that ended without
 * its end hook is recognised by it, and a claim is renewed while it lives.
 *
 * The start time guards against a process id that the system has used again. It is known on Linux only.
 */
import { readFileSync } from 'node:fs'

export interface HarnessProcess {
  readonly pid: number
  readonly started: string | null
}

/** Returns CLAUDE_PID, else the closest ancestor that is not a shell: some harnesses run hooks in a shell. */
export function harnessProcess(claudePid: string | undefined, parent: number): HarnessProcess {
  const pid = /^[1-9]\d{0,9}$/.test(claudePid ?? '') ? Number(claudePid) : past(parent, isShell)
  return processOf(pid)
}

/**
 * Returns the closest ancestor that may outlive this command: it is neither a shell that runs one command line
 * (`sh -c`) nor npx. A harness runs each command in such a shell.
 */
export const callerOf = (parent: number): number =>
  past(parent, (name, pid) => isNpx(name) || (isShell(name) && runsCommandLine(argumentsOf(pid))))

export const processOf = (pid: number): HarnessProcess => ({
  pid,
  started: statusOf(pid)?.started ?? null,
})

export function isAlive({ pid, started }: HarnessProcess): boolean {
  if (!isProcessId(pid) || !exists(pid)) return false
  const now = statusOf(pid)
  // A process that has ended, but that its parent has not reaped, is still there for signals.
  if (now?.state === 'Z') return false
  return started === null || now?.started === undefined || now.started === started
}

/** To signal 0 or a negative number would signal a group of processes, or all of them. */
const isProcessId = (pid: number): boolean => Number.isSafeInteger(pid) && pid > 0

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'fish', 'ash'])
const isShell = (name: string): boolean => shells.has(name)
/** npm's title of its process, of which Linux keeps 15 characters. */
const isNpx = (name: string): boolean => name.startsWith('npm exec')
const passedMost = 4

/** Returns the closest ancestor that `isPassed` rejects. */
function past(parent: number, isPassed: (name: string, pid: number) => boolean): number {
  let pid = parent
  for (let passed = 0; passed < passedMost; passed += 1) {
    const status = statusOf(pid) ?? reportedStatus(pid)
    if (status === undefined || !isPassed(status.name, pid) || status.parent <= 1) return pid
    pid = status.parent
  }
  return pid
}

const optionWithValue = /^(?:[-+][A-Za-z]*[oO]|--rcfile|--init-file)$/

/** Whether the options of a shell, which end at its first argument, have `-c`. */
function runsCommandLine([, ...words]: readonly string[]): boolean {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (!/^[-+]./.test(word)) return false
    if (/^-[A-Za-z]*c/.test(word) || word.startsWith('--command')) return true
    if (optionWithValue.test(word)) at += 1
  }
  return false
}

interface Status {
  readonly name: string
  readonly state?: string
  readonly parent: number
  readonly started?: string
}

/** Reads /proc: `pid (name) state ppid …`, with the start time as field 22. A name may contain `)`. */
function statusOf(pid: number): Status | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent = '0'] = fields
    const { 19: started } = fields
    const name = text.slice(text.indexOf('(') + 1, text.lastIndexOf(')'))
    return { name, state, parent: Number(parent), ...(started === undefined ? {} : { started }) }
  } catch {
    return undefined
  }
}

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return reported('args=', pid)?.split(/\s+/) ?? []
  }
}

function reportedStatus(pid: number): Status | undefined {
  const text = reported('ppid=,comm=', pid)
  if (text === undefined) return undefined
  const [, parent = '0', command = ''] = /^(\d+)\s+(.*)$/.exec(text) ?? []
  return { name: command.replace(/^-|.*\//g, ''), parent: Number(parent) }
}

/** Asks `ps` where there is no /proc. */
function reported(fields: string, pid: number): string | undefined {
  try {
    // node:child_process is loaded only here: a hook runs after every tool.
    const { execFileSync } = process.getBuiltinModule('node:child_process')
    return execFileSync('ps', ['-o', fields, '-p', String(pid)], {
      encoding: 'utf8',
      timeout: 500,
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}
