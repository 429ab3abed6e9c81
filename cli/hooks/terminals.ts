/**
 * Terminals of a Codex daemon. The daemon runs the hooks and the MCP servers of its sessions, and survives their
 * terminals, so the end of the harness process says nothing about a session.
 *
 * They are known on Linux only, from /proc. Elsewhere a waiter ends after its 23 hours.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { type HarnessProcess, isAlive, processOf } from './harness-process.ts'

export interface Terminals {
  /** Whether no terminal is left. */
  areGone(): boolean
}

/** Words of Codex that start no terminal. */
const others: ReadonlySet<string> = new Set(['app-server', 'exec', 'queue', 'mcp', 'mcp-server', 'sandbox'])

/**
 * Returns the terminals in this folder, else all of this user. Undefined: the harness is no daemon, or it has no
 * terminal, as in an editor.
 */
export function terminalsOf({ pid }: HarnessProcess, folder: string): Terminals | undefined {
  if (!wordsOf(pid).includes('app-server')) return undefined
  const here = terminalsIn(folder)
  let known = here.length > 0 ? here : terminalsIn()
  if (known.length === 0) return undefined
  const again = () => (here.length > 0 ? terminalsIn(folder) : terminalsIn())
  return {
    areGone() {
      if (known.some(isAlive)) return false
      known = again()
      return known.length === 0
    },
  }
}

function terminalsIn(folder?: string): HarnessProcess[] {
  return namesOfProcesses()
    .filter((pid) => isTerminal(pid) && (folder === undefined || folderOf(pid) === folder))
    .map(processOf)
}

function isTerminal(pid: number): boolean {
  const [program = '', ...words] = wordsOf(pid)
  return (
    basename(program) === 'codex' && folderOf(pid) !== undefined && !words.some((word) => others.has(word))
  )
}

function namesOfProcesses(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** Its program and arguments; none if it has ended. */
function wordsOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Undefined if it has ended, or belongs to another user. */
function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}
