/** Drafts of unsent messages, in the memory of this tab only. */
import { type Signal, signal } from '@preact/signals'
import type { Message } from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'

export const types = ['note', 'question', 'answer'] as const

export interface Draft {
  readonly body: string
  readonly type: (typeof types)[number]
  readonly recipient: string
  /** Message that this one answers. */
  readonly answers: Pick<Message, 'id' | 'sequence' | 'recipient_agent_id'> | undefined
  /** Minutes after sending until which a reply is expected, or empty. */
  readonly delay: string
  /** Time until which a reply is expected. The first try fixes it, so a second try sends the same message. */
  readonly replyBy: string | undefined
  readonly key: string
  /** True if the last try may have stored the message. A change then keeps the key, so the node can tell. */
  readonly isUnsure: boolean
}

const drafts = new Map<string, Signal<Draft>>()

/** Returns the draft of a place. It outlives its screen, but not the document. */
export function draftOf(place: string, recipient: string): Signal<Draft> {
  const known = drafts.get(place) ?? signal(emptyDraft(recipient))
  drafts.set(place, known)
  return known
}

export const emptyDraft = (recipient: string): Draft => ({
  body: '',
  type: 'note',
  recipient,
  answers: undefined,
  delay: '',
  replyBy: undefined,
  key: freshKey(),
  isUnsure: false,
})
