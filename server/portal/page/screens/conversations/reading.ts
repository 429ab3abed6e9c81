/**
 * Messages of one conversation: a range without gaps, that grows at both ends and keeps itself current.
 *
 * - A page of the node has 100 messages. One read runs at a time.
 * - The node records no event for an offer, so its mark is read again while a message waits for its reader.
 */
import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals'
import {
  type AuditRecord,
  type Conversation,
  limits,
  type Message,
  type MessagePage,
} from '../../../../../sdk/browser.ts'
import { isAttended } from '../../live/attendance.ts'
import type { LiveProject } from '../../live/project.ts'
import { owner } from '../../owner.ts'

const offersMs = 5000
/** Messages after the one that an address names, which are read together with those before it. */
const after = 50

export interface Thread {
  readonly about: ReadonlySignal<Conversation | undefined>
  readonly messages: ReadonlySignal<readonly Message[]>
  readonly hasOlder: ReadonlySignal<boolean>
  /** True if the range ends before the newest message. */
  readonly hasNewer: ReadonlySignal<boolean>
  /** Greatest number that retention has removed. */
  readonly removedThrough: ReadonlySignal<number>
  readonly error: ReadonlySignal<unknown>
  older(): Promise<void>
  newer(): Promise<void>
  /** Makes sure that the message with this number is in the range. Without a number: the newest one. */
  goTo(sequence?: number): Promise<void>
  acknowledge(messages: readonly Message[], progress: (done: number) => void): Promise<void>
  take(message: Message): void
  stop(): void
}

export function readThread(project: string, id: string, live: LiveProject, at: number | undefined): Thread {
  const about = signal<Conversation | undefined>(undefined)
  const messages = signal<readonly Message[]>([])
  const hasOlder = signal(false)
  const hasNewer = signal(false)
  const removedThrough = signal(0)
  const error = signal<unknown>(undefined)
  const stopping = new AbortController()
  const options = { signal: stopping.signal }
  let tail: Promise<unknown> = Promise.resolve()
  /** Messages that the last reading of changed marks did not come to: it failed, or nobody looked any more. */
  let left: readonly Message[] = []
  /** True until a first reading or a catching up has read all that it began with. Its failure is shown until then. */
  let isBehind = true

  const inTurn = (act: () => Promise<unknown>): Promise<void> => {
    const turn = async () => {
      try {
        if (stopping.signal.aborted) return
        await act()
        if (!isBehind) error.value = undefined
      } catch (failure) {
        if (!stopping.signal.aborted) error.value = failure
      }
    }
    const done = tail.then(turn)
    tail = done
    return done
  }
  const page = async (where: { beforeSequence?: number; afterSequence?: number }): Promise<MessagePage> => {
    const read = await owner.conversations.history(project, id, { ...where, ...options })
    removedThrough.value = Math.max(removedThrough.peek(), read.retention_gap?.removed_through_sequence ?? 0)
    return read
  }
  const merge = (read: readonly Message[]) => {
    messages.value = merged(messages.peek(), read)
  }
  const last = () => messages.peek().at(-1)?.sequence ?? 0

  /** Reads what is newer than the range, to the end. If nobody looks any more, the next catching up goes on. */
  const forward = async () => {
    for (let hasMore = true; hasMore && isAttended.peek(); ) {
      const read = await page({ afterSequence: last() })
      merge(read.messages)
      hasMore = read.has_more
    }
  }
  const begin = async (sequence: number | undefined) => {
    const found = await owner.conversations.get(project, id, options)
    const isLatest = sequence === undefined || sequence + after > found.last_sequence
    const read = await page(isLatest ? {} : { beforeSequence: sequence + after })
    // Together: else the screen is drawn without messages first, and then announces all of them as new.
    batch(() => {
      about.value = found
      messages.value = read.messages
      hasOlder.value = read.has_more
      hasNewer.value = !isLatest
    })
    left = []
    isBehind = false
  }
  /** Reads messages of the range again whose marks have changed, and those that are left. */
  const again = async (changed: readonly Message[]) => {
    left = merged(left, changed)
    while (left[0] !== undefined && isAttended.peek()) {
      const read = await page({ afterSequence: left[0].sequence - 1 })
      merge(read.messages.filter(({ sequence }) => sequence <= last() || !hasNewer.peek()))
      const end = read.messages.at(-1)?.sequence ?? Number.POSITIVE_INFINITY
      left = left.filter(({ sequence }) => sequence > end)
    }
  }
  const waiting = (among: number = limits.pageMax) =>
    messages
      .peek()
      .slice(-among)
      .filter(({ delivery }) => delivery.acknowledged_at === null)
  /** True if a record was missed, which may be of any message. */
  let hasMissed = false
  let isWaiting = false
  /**
   * Calls that wait for their turn are one. A hidden page reads nothing, and catches up later. If the first reading
   * has failed, the thread begins again.
   */
  const catchUp = () => {
    if (isWaiting) return
    isWaiting = true
    void inTurn(async () => {
      isWaiting = false
      isBehind = true
      if (about.peek() === undefined) return isAttended.peek() ? begin(at) : undefined
      if (!hasNewer.peek()) await forward()
      const among = hasMissed ? Number.POSITIVE_INFINITY : limits.pageMax
      hasMissed = false
      await again(waiting(among))
      isBehind = false
    })
  }

  void inTurn(() => begin(at))
  let seen: string | undefined
  let hasBegun = false
  let wasAttended = true
  const unfollow = effect(() => {
    if (isAttended.value && !wasAttended) catchUp()
    wasAttended = isAttended.value
    // Records that come now are fresh when somebody looks again.
    if (!wasAttended) return
    const { activity = [] } = live.snapshot.value ?? {}
    const known = activity.findIndex((record) => record.id === seen)
    const isMissed = seen !== undefined && known === -1
    hasMissed ||= isMissed
    const fresh = activity.slice(known + 1).filter((record) => concerns(record, id, messages.peek()))
    // A snapshot that comes after the messages may tell of later ones.
    const isLate = seen === undefined && activity.length > 0 && hasBegun
    hasBegun = true
    if (isLate || (seen !== undefined && (isMissed || fresh.length > 0))) catchUp()
    if (seen !== undefined && fresh.length > 0) void inTurn(() => again(acknowledged(fresh, messages.peek())))
    seen = activity.at(-1)?.id ?? seen
  })
  const timer = setInterval(() => {
    const mayLack = isBehind || waiting().length > 0 || error.peek() !== undefined
    if (isAttended.value && mayLack) catchUp()
  }, offersMs)
  return {
    about,
    messages,
    hasOlder,
    hasNewer,
    removedThrough: computed(() => removedThrough.value),
    error,
    older: () =>
      inTurn(async () => {
        if (!hasOlder.peek()) return
        const read = await page({ beforeSequence: messages.peek()[0]?.sequence ?? 1 })
        merge(read.messages)
        hasOlder.value = read.has_more
      }),
    newer: () =>
      inTurn(async () => {
        if (!hasNewer.peek()) return
        const read = await page({ afterSequence: last() })
        merge(read.messages)
        hasNewer.value = read.has_more
      }),
    goTo: (sequence) =>
      inTurn(async () => {
        const first = messages.peek()[0]?.sequence ?? 1
        const isKnown = sequence === undefined ? !hasNewer.peek() : sequence >= first && sequence <= last()
        if (!isKnown) await begin(sequence)
      }),
    acknowledge: async (all, progress) => {
      const ids = all.map((message) => message.id)
      for (let done = 0; done < ids.length; done += limits.acknowledgeIds) {
        progress(done)
        await owner.messages.acknowledge(project, ids.slice(done, done + limits.acknowledgeIds))
      }
      await inTurn(() => again(all))
    },
    take: (message) => {
      // With messages missing between, the range would have a gap.
      if (hasNewer.peek()) void inTurn(() => begin(undefined))
      else if (message.sequence === last() + 1) merge([message])
      else catchUp()
    },
    stop: () => {
      stopping.abort()
      unfollow()
      clearInterval(timer)
    },
  }
}

function concerns({ kind, details }: AuditRecord, conversation: string, known: readonly Message[]): boolean {
  if (!kind.startsWith('message.') && !kind.startsWith('task.') && !kind.startsWith('transfer.')) return false
  if (kind === 'message.acknowledged')
    return idsOf(details).some((id) => known.some((each) => each.id === id))
  return details.conversation_id === conversation || !kind.startsWith('message.')
}

function acknowledged(records: readonly AuditRecord[], known: readonly Message[]): readonly Message[] {
  const ids = new Set(records.flatMap(({ details }) => idsOf(details)))
  return known.filter(({ id, delivery }) => ids.has(id) && delivery.acknowledged_at === null)
}

const idsOf = ({ message_ids }: AuditRecord['details']): readonly unknown[] =>
  Array.isArray(message_ids) ? message_ids : []

/**
 * Returns the messages of both lists in their order. A newer reading of a message replaces the older one. The
 * result is the same list if nothing has changed.
 */
export function merged(known: readonly Message[], read: readonly Message[]): readonly Message[] {
  const all = new Map(known.map((message) => [message.sequence, message]))
  let isChanged = false
  for (const message of read) {
    const before = all.get(message.sequence)
    if (before !== undefined && isSame(before, message)) continue
    all.set(message.sequence, message)
    isChanged = true
  }
  return isChanged ? [...all.values()].sort((a, b) => a.sequence - b.sequence) : known
}

/** Only the delivery of a message changes. */
const isSame = ({ delivery: a }: Message, { delivery: b }: Message): boolean =>
  a.offers === b.offers && a.acknowledged_at === b.acknowledged_at
