/** Every conversation of a project, the one with the latest message first, current while its screen is open. */
import { effect } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { type AuditRecord, type Conversation, limits } from '../../../../../sdk/browser.ts'
import { isAttended } from '../../live/attendance.ts'
import type { LiveProject } from '../../live/project.ts'
import { owner } from '../../owner.ts'

export interface Listed {
  readonly about: Conversation
  /** Time of the latest message. Undefined if it is unknown. */
  readonly lastAt: string | undefined
  /** Messages to the owner that are not acknowledged. The oldest 100 of the project are counted. */
  readonly unread: number
  /** Messages since the list was opened. */
  readonly fresh: number
}

interface Listing {
  readonly all: readonly Listed[] | undefined
  readonly error: unknown
}

export function useConversations(project: string, live: LiveProject): Listing {
  const [all, setAll] = useState<readonly Listed[]>()
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    const stopping = new AbortController()
    const { signal } = stopping
    const first = new Map<string, number>()
    let isOpened = false
    const read = async () => {
      const [about, sent, unread] = await Promise.all([
        every(project, signal),
        lastSent(project, signal),
        unreadOf(project, signal),
      ])
      await addLast(project, about, sent, signal)
      for (const { id, last_sequence } of about)
        if (!first.has(id)) first.set(id, isOpened ? 0 : last_sequence)
      isOpened = true
      setAll(listed(about, sent, unread, first))
      setError(undefined)
    }
    let seen: string | undefined
    let unread: number | undefined
    let tail: Promise<unknown> = Promise.resolve()
    let isWaiting = false
    const turn = async () => {
      isWaiting = false
      await read()
    }
    const unfollow = effect(() => {
      // Records that come while nobody looks are new when somebody does.
      if (!isAttended.value) return
      const { activity = [], counts } = live.snapshot.value ?? {}
      const at = activity.findIndex(({ id }) => id === seen)
      const isNew = seen === undefined || at === -1 || activity.slice(at + 1).some(isMessage)
      seen = activity.at(-1)?.id ?? seen
      const isSameUnread = unread === counts?.to_owner
      unread = counts?.to_owner
      if (!isNew && isSameUnread && isOpened) return
      // A reading that waits for its turn stands for all that are wanted meanwhile.
      if (isWaiting) return
      isWaiting = true
      tail = tail.then(turn).catch((failure: unknown) => {
        if (!signal.aborted) setError(failure)
      })
    })
    return () => {
      stopping.abort()
      unfollow()
    }
  }, [project, live])
  return { all, error }
}

const isMessage = ({ kind }: AuditRecord): boolean =>
  ['message.sent', 'conversation.opened', 'task.created', 'transfer.offered'].includes(kind)

async function every(project: string, signal: AbortSignal): Promise<Conversation[]> {
  const all: Conversation[] = []
  for await (const each of owner.conversations.all(project, { order: 'newest_first', signal })) all.push(each)
  return all
}

/** Returns the number of unacknowledged messages to the owner by conversation. */
async function unreadOf(project: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const { messages } = await owner.inbox.ofProject(project, { limit: limits.pageMax, signal })
  const counts = new Map<string, number>()
  for (const { conversation_id: id } of messages) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

interface Sent {
  readonly at: string
  readonly sequence: unknown
}

/** Returns the latest message of each conversation that the latest records name. Messages of the service have none. */
async function lastSent(project: string, signal: AbortSignal): Promise<Map<unknown, Sent>> {
  const options = { kind: 'message.sent', order: 'newest_first', limit: limits.pageMax, signal } as const
  const { audit } = await owner.audit.list(project, options)
  return new Map(
    audit.reverse().map(({ at, details }) => [details.conversation_id, { at, sequence: details.sequence }]),
  )
}

/** Conversations whose last message one refresh reads itself. */
const readAtMost = 30

/** Adds last messages that the records do not have: those of the service, and old ones. */
async function addLast(
  project: string,
  about: readonly Conversation[],
  sent: Map<unknown, Sent>,
  signal: AbortSignal,
): Promise<void> {
  const unknown = about.filter(
    ({ id, last_sequence }) => last_sequence > 0 && sent.get(id)?.sequence !== last_sequence,
  )
  await Promise.all(
    unknown.slice(0, readAtMost).map(async ({ id, last_sequence }) => {
      const afterSequence = last_sequence - 1
      const { messages } = await owner.conversations.history(project, id, { afterSequence, signal })
      const last = messages.at(-1)
      if (last !== undefined) sent.set(id, { at: last.created_at, sequence: last_sequence })
    }),
  )
}

function listed(
  about: readonly Conversation[],
  sent: ReadonlyMap<unknown, Sent>,
  unread: ReadonlyMap<string, number>,
  first: ReadonlyMap<string, number>,
): readonly Listed[] {
  const knownAt = ({ id }: Conversation) => sent.get(id)?.at ?? ''
  return about
    .toSorted((a, b) => knownAt(b).localeCompare(knownAt(a)))
    .map((each) => {
      const { at, sequence } = sent.get(each.id) ?? {}
      return {
        about: each,
        lastAt: sequence === each.last_sequence ? at : undefined,
        unread: unread.get(each.id) ?? 0,
        fresh: each.last_sequence - (first.get(each.id) ?? 0),
      }
    })
}
