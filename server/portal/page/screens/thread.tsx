/** One conversation: its messages, oldest at the top, and the form to write. */
import { useRef } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { session } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { act } from '../parts/toast.tsx'
import { Message } from './conversations/message.tsx'
import { Participants } from './conversations/participants.tsx'
import { useThread } from './conversations/reading.ts'
import { Write } from './conversations/write.tsx'

export function Thread() {
  const { id = '', conversation = '' } = useRoute().params
  const end = useRef<HTMLDivElement>(null)
  const thread = useThread(id, conversation, end)
  const { about, messages, error } = thread
  if (about === undefined) return <Refusal error={error} />
  const agents = about.participants.flatMap(({ agent_id, name }) =>
    agent_id === null ? [] : [{ id: agent_id, name }],
  )
  const unread = messages.filter(
    ({ recipient, delivery }) => recipient.kind === 'owner' && delivery.acknowledged_at === null,
  )
  return (
    <>
      <p>
        <a href={`/projects/${id}/conversations`}>‹ Conversations</a>
      </p>
      <Heading title="Conversation">
        <Participants of={about} />
      </Heading>
      <Refusal error={error} />
      {thread.removedThrough !== undefined && (
        <p class="meta">Messages up to number {thread.removedThrough} were removed.</p>
      )}
      {thread.hasOlder && (
        <button type="button" class="quiet" onClick={() => act(thread.older)}>
          Show older messages
        </button>
      )}
      <ol class="thread">
        {messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            repliesTo={messages.find((each) => each.id === message.in_reply_to)?.sequence}
            isMine={message.sender.name === session.value?.user.name}
          />
        ))}
      </ol>
      <div ref={end} />
      {unread.length > 0 && (
        <p>
          <button type="button" onClick={() => act(() => thread.acknowledge(unread))}>
            Acknowledge {unread.length === 1 ? 'the message to you' : `all ${unread.length} to you`}
          </button>
        </p>
      )}
      <Write
        project={id}
        conversation={about.kind === 'owner' ? undefined : conversation}
        to={agents}
        sent={thread.sent}
      />
    </>
  )
}
