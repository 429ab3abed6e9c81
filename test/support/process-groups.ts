/**
 * Tells whether a process of a group is still running. A zombie (ended, but not yet reaped by its parent)
 * counts as gone.
 */
import { readdirSync } from 'node:fs'
import { expect } from 'vitest'
import { statOf } from './child-processes.ts'

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
