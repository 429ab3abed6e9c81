/** The hook at the end of a session: ends the waiter and gives the profile up. Harnesses allow it about 1 s. */
import { setTimeout as timer } from 'node:timers/promises'
import { takeLock } from '../../sdk/storage/lock.ts'
import { removeFile } from './files.ts'
import { type HarnessProcess, isAlive } from './harness-process.ts'
import { letGo } from './holder.ts'
import type { HookParts } from './parts.ts'
import { runningWaiter } from './waiter-record.ts'

const patienceMs = 700
const stepMs = 20

export async function endSession({ session }: HookParts): Promise<void> {
  const { places, name } = session
  removeFile(places.turn(name))
  if (!letGo(places, name)) return
  const waiter = runningWaiter(places)?.process
  // A waiter holds the lock. Without it, the process is another one that got the id of a dead waiter.
  const isWaiting = waiter !== undefined && (await isHeld(places.listenLock))
  if (isWaiting) await ended(waiter)
  // Some harnesses kill their waiter before this hook, so it could not remove its files.
  if (!isWaiting || !isAlive(waiter)) for (const path of [places.mail, places.waiter]) removeFile(path)
}

async function isHeld(path: string): Promise<boolean> {
  const lock = await takeLock(path)
  lock?.release()
  return lock === undefined
}

async function ended(waiter: HarnessProcess): Promise<void> {
  process.kill(waiter.pid, 'SIGTERM')
  // The next session of the process starts a waiter at once, which needs the lock.
  for (let waitedMs = 0; waitedMs < patienceMs && isAlive(waiter); waitedMs += stepMs) await timer(stepMs)
}
