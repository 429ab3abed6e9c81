/**
 * The ledger file, and the only way to tell a session something.
 *
 * Steps under the lock of the profile: read the ledger, choose the messages, write the ledger with the notice
 * as `pending`, print, write it again with the notice as given.
 *
 * - If the process is killed between the writes, the next reader finds the notice pending. It cannot know
 *   whether the session saw it, so the messages are due again at once: a notice is repeated, never lost.
 * - If the first write fails, nothing is printed. Otherwise a full disk would mean a notice at every event.
 * - A wake counts with the first write, so kills cannot exceed the limit of wakes.
 */
import { setTimeout as timer } from 'node:timers/promises'
import { takeLock } from '../../sdk/storage/lock.ts'
import { HookFailure } from './context.ts'
import { makeFolder, readObject, replaceObject, touchedAt } from './files.ts'
import {
  afterNotice,
  afterWake,
  blankLedger,
  canWake,
  dueIds,
  type Ledger,
  nextDueMs,
  type Seen,
} from './ledger.ts'
import type { Places } from './places.ts'
import type { Unread } from './unread.ts'

export interface Telling {
  readonly unread: Unread
  /** Read under the lock: a hook that waited for another one acts after it. */
  readonly clock: () => Date
  /**
   * `due` tells the session only if a message is due; `wake` also counts a wake. `always` tells it unless another
   * hook told the same within 5 seconds, and notes the messages that are due.
   */
  readonly when: 'due' | 'wake' | 'always'
  /** Prints the notice. If it throws, the notice stays pending. */
  readonly print: () => void | Promise<void>
}

export interface Told {
  readonly outcome: 'told' | 'not_due' | 'too_many_wakes'
  /** Milliseconds until the next message is due; undefined without unacknowledged messages. */
  readonly nextMs: number | undefined
}

/** @throws HookFailure `busy` if another hook holds the lock; errors of the file system and of `print`. */
export async function tell(places: Places, session: string, telling: Telling): Promise<Told> {
  const { unread, clock, when, print } = telling
  return locked(places, async () => {
    const nowMs = clock().getTime()
    const path = places.ledger(session)
    const ledger = readLedger(path)
    const seen = {
      ids: unread.messages.map(({ id }) => id),
      isComplete: unread.isComplete,
      nowMs,
      readAtMs: touchedAt(places.read),
    }
    const due =
      when === 'always' ? seen.ids.filter((id) => isDueAlone(ledger, id, seen)) : dueIds(ledger, seen)
    const rest = nextDueMs(ledger, seen)
    if (due.length === 0 && isJustTold(ledger, seen)) return { outcome: 'not_due', nextMs: rest }
    if (due.length === 0 && when !== 'always') return { outcome: 'not_due', nextMs: rest }
    if (when === 'wake' && !canWake(ledger, nowMs)) return { outcome: 'too_many_wakes', nextMs: rest }
    const counted = when === 'wake' ? afterWake(ledger, nowMs) : ledger
    const after = due.length === 0 ? counted : afterNotice(counted, due, seen)
    replaceObject(path, { ...counted, pending: due })
    await print()
    replaceObject(path, after)
    return { outcome: 'told', nextMs: nextDueMs(after, seen) }
  })
}

/** Copilot CLI runs the hooks of the start and of the first prompt at once, and the one of the prompt may be first. */
const togetherMs = 5000

const isJustTold = ({ last }: Ledger, { nowMs }: Seen): boolean =>
  last !== null && nowMs >= last.atMs && nowMs - last.atMs < togetherMs

/** Whether the message would be due if no notice were outstanding. */
const isDueAlone = (ledger: Ledger, id: string, seen: Seen): boolean =>
  dueIds({ ...ledger, last: null }, { ...seen, ids: [id] }).length > 0

const triesMs = 20
const patienceMs = 500

/**
 * Runs an action under the lock of the profile's hooks. Another hook that holds the lock longer is telling the
 * session, so this one need not.
 */
export async function locked<T>(places: Places, act: () => Promise<T>): Promise<T> {
  makeFolder(places.folder)
  for (let waitedMs = 0; ; waitedMs += triesMs) {
    const lock = await takeLock(places.lock)
    if (lock !== undefined) {
      try {
        return await act()
      } finally {
        lock.release()
      }
    }
    if (waitedMs >= patienceMs) throw new HookFailure('busy', 'another hook of this profile is at work')
    await timer(triesMs)
  }
}

/** Reads a ledger. A pending notice is dropped, so its messages are due. */
function readLedger(path: string): Ledger {
  const { messages, last, wakes } = (readObject(path) ?? {}) as Partial<Ledger>
  return {
    messages: isEntries(messages) ? messages : blankLedger.messages,
    last: Array.isArray(last?.ids) ? last : null,
    wakes: Array.isArray(wakes) ? wakes.filter((each) => typeof each === 'number') : [],
  }
}

const isEntries = (value: unknown): value is Ledger['messages'] =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every(
    (entry) => Array.isArray(entry) && entry.every((each) => typeof each === 'number'),
  )
