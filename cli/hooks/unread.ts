/** Unacknowledged messages without their bodies, which no notice may contain. */
import type { Bridge, Message } from '../../sdk/index.ts'

export interface UnreadMessage {
  readonly id: string
  readonly kind: 'agent' | 'owner' | 'system'
  readonly name: string
  readonly type: string
  readonly createdAt: string
  readonly replyBy: string | null
}

export interface Unread {
  readonly messages: readonly UnreadMessage[]
  /** Number of unacknowledged messages, also of those that `messages` leaves out. */
  readonly total: number
  readonly isComplete: boolean
  readonly at: string
}

const pageSize = 100
const pagesMost = 10

/** Reads the oldest 1,000 unacknowledged messages. Offers and acknowledges none. */
export async function readUnread(bridge: Bridge, clock: () => Date, signal: AbortSignal): Promise<Unread> {
  const messages: UnreadMessage[] = []
  for (let pages = 1; ; pages += 1) {
    const page = await bridge.inbox.list({ after: messages.at(-1)?.id, limit: pageSize, signal })
    messages.push(...page.messages.map(withoutBody))
    if (page.has_more && page.messages.length > 0 && pages < pagesMost) continue
    const isComplete = !page.has_more
    const total = isComplete ? messages.length : Math.max(page.waiting, messages.length)
    return { messages, total, isComplete, at: clock().toISOString() }
  }
}

const withoutBody = ({ id, sender, type, created_at, expects_reply_by }: Message): UnreadMessage => ({
  id,
  kind: sender.kind,
  name: sender.name,
  type,
  createdAt: created_at,
  replyBy: expects_reply_by,
})

/** Returns what `mail.json` holds, or undefined if it is damaged. */
export function parseUnread(stored: Record<string, unknown> | undefined): Unread | undefined {
  const unread = stored?.unread as Partial<Unread> | undefined
  const isWhole =
    Array.isArray(unread?.messages) &&
    unread.messages.every((each) => typeof each?.id === 'string' && typeof each.name === 'string') &&
    typeof unread.total === 'number' &&
    typeof unread.at === 'string'
  return isWhole ? (unread as Unread) : undefined
}
