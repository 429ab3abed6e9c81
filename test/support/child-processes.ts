/** Processes of this machine, read from Linux's /proc by their ids. */
import { readFileSync } from 'node:fs'

/** Returns state and group of a process; undefined if there is no such process. */
export function statOf(pid: number | string): { state: string; group: number } | undefined {
  try {
    // The name is in parentheses and may contain any character.
    const [state = '', , group] =
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return { state, group: Number(group) }
  } catch {
    return undefined
  }
}

/** Whether a process is running. A zombie, which has not been reaped yet, counts as ended. */
export const isRunning = (pid: number): boolean => !['Z', 'X', undefined].includes(statOf(pid)?.state)

/** Returns the ids of its child processes; none if the process has ended. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return text === '' ? [] : text.split(' ').map(Number)
  } catch {
    return []
  }
}

/** Returns the ids of the processes that a process started, and their children. */
export const descendantsOf = (pid: number): number[] =>
  childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)])
