/** Unacknowledged messages without their bodies, which no notice may contain. */
import type { Bridge, Message } from '../../sdk/index.ts'
import type { HookContext } from './context.ts'

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
/** Time after which no further page is read: a page may have 1 MiB of bodies. */
const patienceMs = 1000

/**
 * Reads the oldest 1,000 unacknowledged messages, or fewer if the network is slow. Offers and acknowledges none.
 *
 * @throws only if the first page cannot be read
 */
export async function readUnread(
  { inbox }: Pick<Bridge, 'inbox'>,
  { clock, elapsedMs, signal }: Pick<HookContext, 'clock' | 'elapsedMs' | 'signal'>,
): Promise<Unread> {
  const messages: UnreadMessage[] = []
  const list = () => inbox.list({ after: messages.at(-1)?.id, limit: pageSize, signal })
  const endMs = elapsedMs() + patienceMs
  let page = await list()
  messages.push(...page.messages.map(withoutBody))
  for (let pages = 1; pages < pagesMost && page.has_more && elapsedMs() < endMs; pages += 1) {
    const next = await list().catch(() => undefined)
    if (next === undefined || next.messages.length === 0) break
    page = next
    messages.push(...page.messages.map(withoutBody))
  }
  const isComplete = !page.has_more
  const total = isComplete ? messages.length : Math.max(page.waiting, messages.length)
  return { messages, total, isComplete, at: clock().toISOString() }
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
