/**
 * Tells whether a process of a group is still running. A zombie (ended, but not yet reaped by its parent)
 * counts as gone.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'

/** Reads state and group of a process from Linux's /proc; undefined if there is no such process. */
function statOf(pid: string): { state: string; group: number } | undefined {
  try {
    // The name is in parentheses and may contain any character.
    const [state = '', , group] =
      readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
    return { state, group: Number(group) }
  } catch {
    return undefined
  }
}

function isAtWork(leader: number): boolean {
  if (process.platform === 'linux') {
    return readdirSync('/proc').some((name) => {
      const stat = /^\d+$/.test(name) ? statOf(name) : undefined
      return stat?.group === leader && stat.state !== 'Z'
    })
  }
  try {
    return process.kill(-leader, 0)
  } catch {
    return false
  }
}

/** Resolves when no process of the group is running. */
export const untilGone = (leader: number): Promise<void> => expect.poll(() => isAtWork(leader)).toBe(false)
