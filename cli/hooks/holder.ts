/**
 * The harness session that gets the notices of a profile's mail. One profile is one identity, so a second
 * session gets nothing while the first one lives.
 *
 * - A session holds the profile from its first hook until its end hook, or until its process is gone.
 * - A process that starts another session, as `/clear` does, hands the profile over to it.
 */
import { readObject, removeFile, replaceObject } from './files.ts'
import { type HarnessProcess, isAlive } from './harness-process.ts'
import { locked } from './ledger-file.ts'
import type { Places } from './places.ts'

export interface Holder {
  readonly harness: string
  /** Harness and id of the session. */
  readonly session: string
  readonly process: HarnessProcess
  readonly since: string
}

export function readHolder({ holder }: Places): Holder | undefined {
  const stored = readObject(holder) as Partial<Holder> | undefined
  const isWhole =
    typeof stored?.harness === 'string' &&
    typeof stored.session === 'string' &&
    typeof stored.since === 'string' &&
    typeof stored.process?.pid === 'number'
  return isWhole ? (stored as Holder) : undefined
}

/**
 * Makes this session the holder if there is none. Returns the other session if there is one. At its start a
 * session also takes over from another session of the same process.
 */
export async function hold(places: Places, me: Holder, isStart: boolean): Promise<Holder | undefined> {
  if (isSame(readHolder(places), me)) return undefined
  return locked(places, async () => {
    const holder = readHolder(places)
    const isFree = holder === undefined || !isAlive(holder.process)
    const isHandedOver = isStart && holder?.process.pid === me.process.pid
    if (!isFree && !isHandedOver && !isSame(holder, me)) return holder
    replaceObject(places.holder, me)
    return undefined
  })
}

const isSame = (holder: Holder | undefined, { session, process }: Holder): boolean =>
  holder?.session === session &&
  holder.process.pid === process.pid &&
  holder.process.started === process.started

/** Gives the profile up, if this session holds it. Returns whether it did. */
export function letGo(places: Places, session: string): boolean {
  if (readHolder(places)?.session !== session) return false
  removeFile(places.holder)
  return true
}
