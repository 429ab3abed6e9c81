/**
 * Notice ledger of one harness session: the messages of its notices, how often each was noticed, and when.
 *
 * - A message is due if it was never noticed, or if it is still unacknowledged 30, 60, 120, 240 and then
 *   every 300 seconds after its last notice.
 * - A session has one outstanding notice. No message is due until the session reads its inbox, acknowledges a
 *   message of the notice, or the shortest back-off of the notice has passed.
 * - A session is woken at most 20 times an hour.
 *
 * Pure functions; ledger-file.ts stores the ledger.
 */

export interface Ledger {
  /** Number of notices and time of the last one in milliseconds, by message id. */
  readonly messages: Readonly<Record<string, readonly [times: number, atMs: number]>>
  /** The last notice. */
  readonly last: LastNotice | null
  /** Times of the wakes within the last hour, in milliseconds. */
  readonly wakes: readonly number[]
}

interface LastNotice {
  readonly ids: readonly string[]
  readonly atMs: number
  readonly backoffMs: number
}

export const blankLedger: Ledger = { messages: {}, last: null, wakes: [] }

/** The inbox as a hook sees it. */
export interface Seen {
  /** Ids of the unacknowledged messages. */
  readonly ids: readonly string[]
  /** Whether `ids` has all of them. */
  readonly isComplete: boolean
  readonly nowMs: number
  /** Time at which this profile last read its inbox. */
  readonly readAtMs: number | undefined
}

const firstMs = 30_000
const longestMs = 300_000
export const hourMs = 3_600_000
export const wakesPerHour = 20

/** Time after the given number of notices until the next one. */
export const backoffMs = (times: number): number => Math.min(longestMs, firstMs * 2 ** (times - 1))

/** Returns the messages of which the session must be told now. */
export function dueIds(ledger: Ledger, seen: Seen): string[] {
  if (outstandingMs(ledger, seen) > 0) return []
  return seen.ids.filter((id) => restMs(ledger, id, seen.nowMs) <= 0)
}

/** Milliseconds until a message is due. 0 if one is due now, undefined if there is none. */
export function nextDueMs(ledger: Ledger, seen: Seen): number | undefined {
  if (seen.ids.length === 0) return undefined
  const soonest = seen.ids.reduce((least, id) => Math.min(least, restMs(ledger, id, seen.nowMs)), Infinity)
  return Math.max(0, soonest, outstandingMs(ledger, seen))
}

/** Adds a notice of these messages, and forgets the acknowledged ones. */
export function afterNotice(ledger: Ledger, ids: readonly string[], seen: Seen): Ledger {
  const messages = { ...known(ledger, seen) }
  for (const id of ids) messages[id] = [(messages[id]?.[0] ?? 0) + 1, seen.nowMs]
  const shortest = ids.reduce((least, id) => Math.min(least, backoffMs(messages[id]?.[0] ?? 1)), longestMs)
  return { ...ledger, messages, last: { ids, atMs: seen.nowMs, backoffMs: shortest } }
}

export const canWake = ({ wakes }: Ledger, nowMs: number): boolean =>
  wakes.filter((atMs) => isWithin(atMs, nowMs, hourMs)).length < wakesPerHour

export const afterWake = (ledger: Ledger, nowMs: number): Ledger => ({
  ...ledger,
  wakes: [...ledger.wakes.filter((atMs) => isWithin(atMs, nowMs, hourMs)), nowMs],
})

/** Milliseconds for which the last notice keeps the session from being told of more. */
function outstandingMs({ last }: Ledger, { ids, nowMs, readAtMs }: Seen): number {
  if (last === null || !isWithin(last.atMs, nowMs, last.backoffMs)) return 0
  if (readAtMs !== undefined && readAtMs >= last.atMs) return 0
  const unacknowledged = new Set(ids)
  return last.ids.every((id) => unacknowledged.has(id)) ? last.atMs + last.backoffMs - nowMs : 0
}

/** Milliseconds until the message is due; 0 or less if it is. */
function restMs({ messages }: Ledger, id: string, nowMs: number): number {
  const noticed = Object.hasOwn(messages, id) ? messages[id] : undefined
  if (noticed === undefined) return 0
  const [times, atMs] = noticed
  return isWithin(atMs, nowMs, backoffMs(times)) ? atMs + backoffMs(times) - nowMs : 0
}

/** False also for a time in the future: then the clock was set back, and the entry says nothing. */
const isWithin = (atMs: number, nowMs: number, ms: number): boolean => nowMs >= atMs && nowMs - atMs < ms

function known({ messages }: Ledger, { ids, isComplete }: Seen): Ledger['messages'] {
  const left = new Set(ids)
  // Ids are read in order, so a part of the inbox has all that are not later than its last one.
  const last = ids.at(-1) ?? ''
  const isLater = (id: string) => !isComplete && id > last
  return Object.fromEntries(Object.entries(messages).filter(([id]) => left.has(id) || isLater(id)))
}
