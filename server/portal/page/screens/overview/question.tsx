/** A question to the owner with its text, answered in place. The answer also acknowledges the question. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type AttentionItem, BridgeError, type OwnerInboxMessage } from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'
import { inboxMessage } from '../../live/inbox.ts'
import { owner } from '../../owner.ts'
import { Body } from '../../parts/body.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { note } from '../../parts/toast.tsx'
import { exact } from '../../words/time.ts'

interface Props {
  readonly project: string
  readonly item: AttentionItem
  readonly refresh: () => Promise<void>
}

export function Question({ project, item, refresh }: Props) {
  const [message, setMessage] = useState<OwnerInboxMessage>()
  const [text, setText] = useState('')
  const key = useRef(freshKey())
  useEffect(() => {
    // Without the text, the link to the conversation remains.
    if (item.subject.id !== null) inboxMessage(project, item.subject.id).then(setMessage, () => undefined)
  }, [project, item.subject.id])
  const { isBusy, error, submit } = useSubmitting(async () => {
    if (message === undefined) return
    const { id, sender, conversation_id } = message
    const to = { recipient_agent_id: sender.agent_id ?? '', conversation_id }
    const answer = { ...to, type: 'answer' as const, body: text, in_reply_to: id }
    try {
      await owner.messages.send(project, answer, { idempotencyKey: key.current })
    } catch (failure) {
      // The earlier text is stored. The present one is another answer.
      if (failure instanceof BridgeError && failure.code === 'idempotency_conflict') key.current = freshKey()
      throw failure
    }
    await owner.messages.acknowledge(project, [id])
    note('Answered.')
    await refresh()
  })
  if (message === undefined)
    return <a href={`/projects/${project}/messages/${item.subject.id}`}>Open the question</a>
  return (
    <>
      <Body text={message.body} from={message.sender.name} encoding={message.encoding} />
      {message.expects_reply_by !== null && (
        <p class="meta">Reply expected by {exact(message.expects_reply_by)}</p>
      )}
      <form class="answer" onSubmit={submit}>
        <label>
          <span class="label">Your answer</span>
          <textarea
            required
            rows={2}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <Refusal error={error} />
        <p class="actions">
          <button type="submit" disabled={isBusy}>
            {isBusy ? 'Answering…' : 'Answer'}
          </button>
          <a href={`/projects/${project}/conversations/${message.conversation_id}?at=${message.sequence}`}>
            Open the conversation
          </a>
        </p>
      </form>
    </>
  )
}
