/** Reads a conversation and keeps it current while its screen is open. */
import { useEffect, useState } from 'preact/hooks'
import { type Conversation, limits, type Message, type MessagePage } from '../../../../../sdk/browser.ts'
import { isAttended } from '../../live/attendance.ts'
import { owner } from '../../owner.ts'

/** The node records no event for an offer, so its mark is read again. */
const offersMs = 5000

export interface ThreadState {
  readonly about: Conversation | undefined
  readonly messages: readonly Message[]
  readonly hasOlder: boolean
  readonly removedThrough: number | undefined
  readonly error: unknown
  older(): Promise<void>
  acknowledge(messages: readonly Message[]): Promise<void>
  readonly sent: (message: Message) => void
}

export function useThread(
  project: string,
  id: string,
  end: { readonly current: HTMLElement | null },
  /** Id of the latest record of the project, which may be a new message. */
  newest: string | undefined,
): ThreadState {
  const [about, setAbout] = useState<Conversation>()
  const [messages, setMessages] = useState<readonly Message[]>([])
  const [oldest, setOldest] = useState<MessagePage>()
  const [error, setError] = useState<unknown>(undefined)
  const merge = (read: readonly Message[]) => setMessages((known) => merged(known, read))
  const latest = async () => {
    const page = await owner.conversations.history(project, id)
    merge(page.messages)
    setError(undefined)
    return page
  }
  useEffect(() => {
    let isOpen = true
    const open = async () => {
      setAbout(await owner.conversations.get(project, id))
      setOldest(await latest())
      scrollTo(end.current)
    }
    open().catch(setError)
    const timer = setInterval(() => {
      if (isOpen && isAttended.value) latest().catch(setError)
    }, offersMs)
    return () => {
      isOpen = false
      clearInterval(timer)
    }
  }, [project, id])
  useEffect(() => {
    if (oldest !== undefined) latest().catch(setError)
  }, [newest])
  const first = messages[0]?.sequence ?? 1
  const removedThrough = oldest?.retention_gap?.removed_through_sequence
  return {
    about,
    messages,
    error,
    removedThrough,
    hasOlder: first > (removedThrough ?? 0) + 1,
    older: async () => {
      const page = await owner.conversations.history(project, id, { beforeSequence: first })
      setOldest(page)
      merge(page.messages)
    },
    acknowledge: async (all) => {
      const ids = all.map((message) => message.id)
      for (let at = 0; at < ids.length; at += limits.acknowledgeIds)
        await owner.messages.acknowledge(project, ids.slice(at, at + limits.acknowledgeIds))
      await latest()
    },
    sent: (message) => merge([message]),
  }
}

/** Returns the messages of both lists in their order. A newer reading of a message replaces the older one. */
export function merged(known: readonly Message[], read: readonly Message[]): readonly Message[] {
  const all = new Map([...known, ...read].map((message) => [message.sequence, message]))
  return [...all.values()].sort((a, b) => a.sequence - b.sequence)
}

/** Scrolls to the end, or to the message that the address names. */
function scrollTo(end: HTMLElement | null): void {
  const at = new URLSearchParams(location.search).get('at')
  requestAnimationFrame(() => {
    const target = at === null ? end : document.getElementById(`m${at}`)
    target?.scrollIntoView({ block: at === null ? 'end' : 'start' })
  })
}
