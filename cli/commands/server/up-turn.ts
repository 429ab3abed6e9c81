/**
 * One `bridge up` at a time: each makes a sign-in link, which ends that of another, and creates what is missing.
 *
 * The lock is in BRIDGE_HOME, which has the owner's profile that `up` writes.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { CliContext } from '../../context.ts'
import { takeLock } from '../../profile/lock.ts'

const lookMs = 100

/** Runs an action after those of other processes have ended. Waits as long as they take, such as for a password. */
export async function inTurn<T>(context: CliContext, act: () => Promise<T>): Promise<T> {
  const { home, signal, output } = context
  const { makePrivateFolder } = await import('../../../sdk/program.ts')
  await makePrivateFolder(home)
  const path = join(home, 'up.lock')
  for (let looks = 0; ; looks += 1) {
    const lock = await takeLock(path)
    if (lock !== undefined) {
      try {
        return await act()
      } finally {
        lock.release()
      }
    }
    if (looks === 0) output.note('another bridge up is preparing its node; this one waits for it')
    await pause(lookMs, undefined, { signal })
  }
}
