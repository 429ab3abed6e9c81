/** Button that acknowledges every loaded message to the owner. Reading alone acknowledges nothing. */
import { useState } from 'preact/hooks'
import type { Message } from '../../../../../sdk/browser.ts'
import { act } from '../../parts/toast.tsx'
import type { Thread } from './reading.ts'

interface Props {
  readonly thread: Thread
}

export const isUnread = ({ recipient, delivery }: Message): boolean =>
  recipient.kind === 'owner' && delivery.acknowledged_at === null

export function AcknowledgeAll({ thread }: Props) {
  const [done, setDone] = useState<number>()
  const unread = thread.messages.value.filter(isUnread)
  const acknowledge = async () => {
    await act(() => thread.acknowledge(unread, setDone))
    setDone(undefined)
  }
  if (unread.length < 2 && done === undefined) return null
  return (
    <p>
      <button type="button" disabled={done !== undefined} onClick={() => void acknowledge()}>
        {done === undefined ? `Acknowledge all shown (${unread.length})` : `Acknowledging… ${done} done`}
      </button>
    </p>
  )
}
