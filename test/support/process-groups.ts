/** Whether anything of a process group still works. What has ended and waits for its parent to look counts as gone. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'

/** State and group of a process, as Linux tells them; undefined when there is none. */
function statOf(pid: string): { state: string; group: number } | undefined {
  try {
    // The name stands in parentheses and may hold anything.
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

/** Resolves when nothing of the group is at work any more. */
export const untilGone = (leader: number): Promise<void> => expect.poll(() => isAtWork(leader)).toBe(false)
