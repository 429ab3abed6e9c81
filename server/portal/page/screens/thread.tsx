/** One conversation: its messages, oldest at the top, and the form to write. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import { liveProject } from '../live/project.ts'
import { session } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Mark } from '../parts/marks.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Silence } from '../parts/silence.tsx'
import { act } from '../parts/toast.tsx'
import { Visible } from '../text/visible.tsx'
import { presence } from '../words/connection.ts'
import { Message } from './conversations/message.tsx'
import { Participants } from './conversations/participants.tsx'
import { useThread } from './conversations/reading.ts'
import { Write } from './conversations/write.tsx'

export function Thread() {
  const { id = '', conversation = '' } = useRoute().params
  const end = useRef<HTMLDivElement>(null)
  const live = useMemo(() => liveProject(id), [id])
  useEffect(() => live.stop, [live])
  const { agents: seen = [], activity = [] } = live.snapshot.value ?? {}
  const thread = useThread(id, conversation, end, activity.at(-1)?.id)
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
      <ul class="sides">
        {seen
          .filter((each) => agents.some((agent) => agent.id === each.id))
          .map(({ id: agent, name, connection }) => {
            const { mark, summary } = presence(connection, live.nodeNow.value, live.isStale.value)
            return (
              <li key={agent}>
                <Mark name={mark} /> <Visible text={name} /> <span class="meta">{summary}</span>
              </li>
            )
          })}
      </ul>
      <Silence live={live} />
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
