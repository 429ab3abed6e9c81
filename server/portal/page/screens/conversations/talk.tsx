/** Messages of a conversation with the form to write. */
import { useComputed } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Conversation, Message as Data } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { announce } from '../../parts/announce.tsx'
import { act, note } from '../../parts/toast.tsx'
import type { Revealing } from '../../parts/windowed.tsx'
import { presence } from '../../words/connection.ts'
import { plural } from '../../words/plural.ts'
import { AcknowledgeAll, isUnread } from './acknowledge.tsx'
import { draftOf } from './drafts.ts'
import { Messages } from './messages.tsx'
import type { Thread as Reading } from './reading.ts'
import { Write } from './write.tsx'

interface Props {
  readonly project: string
  readonly about: Conversation
  readonly live: LiveProject
  readonly thread: Reading
  readonly at?: number | undefined
}

export function Talk({ project, about, live, thread, at }: Props) {
  const agents = agentsOf(about)
  const [reveal, setReveal] = useState<Revealing>({ number: at })
  const draft = draftOf(about.id, agents[0]?.id ?? '')
  const isFirst = useRef(true)
  const last = useComputed(() => thread.messages.value.at(-1)?.sequence ?? 0)
  const isAtEnd = useRef(true)
  // Number of the last message that was in view.
  const [seen, setSeen] = useState<number>()
  const newCount = seen === undefined || thread.hasNewer.value ? 0 : Math.max(0, last.value - seen)
  useEffect(() => {
    if (!isFirst.current) void thread.goTo(at).then(() => setReveal({ number: at }))
    isFirst.current = false
  }, [at])
  useEffect(() => {
    if (seen !== undefined && last.value > seen) announce('thread', newWords(last.value - seen))
    if (isAtEnd.current && last.value > 0) setSeen(last.value)
  }, [last.value])
  const toEnd = async () => {
    await thread.goTo()
    setReveal({ number: undefined })
  }
  const sent = (message: Data) => {
    thread.take(message)
    void toEnd()
    const answered = thread.messages.peek().find((each) => each.id === message.in_reply_to)
    if (answered !== undefined && isUnread(answered)) void act(() => thread.acknowledge([answered], () => {}))
    const reader = live.snapshot.value?.agents.find((each) => each.id === message.recipient_agent_id)
    const { listening } = (reader && presence(reader.connection, 0, live.isStale.value)) ?? {}
    if (listening === 'no') note('Sent. The agent is not listening: the message waits in its inbox.')
  }
  const answer = ({ id, sequence, sender, recipient_agent_id }: Data) => {
    draft.value = {
      ...draft.value,
      type: 'answer',
      recipient: sender.agent_id ?? recipient_agent_id,
      answers: { id, sequence, recipient_agent_id },
    }
    document.getElementById('write')?.focus()
  }
  return (
    <>
      <Messages
        project={project}
        about={about}
        live={live}
        thread={thread}
        reveal={reveal}
        answer={answer}
        atEnd={(isInView) => {
          isAtEnd.current = isInView
          if (isInView && seen !== last.value) setSeen(last.value)
        }}
      />
      {(newCount > 0 || thread.hasNewer.value) && (
        <p class="pill">
          <button type="button" onClick={() => void toEnd()}>
            {newCount > 0 ? `${newWords(newCount)} ↓` : 'Newest messages ↓'}
          </button>
        </p>
      )}
      <AcknowledgeAll thread={thread} />
      <Write
        project={project}
        conversation={about.kind === 'owner' ? undefined : about.id}
        to={agents}
        draft={draft}
        nowMs={() => live.nodeNow.peek()}
        sent={sent}
      />
    </>
  )
}

const newWords = (count: number): string => plural(count, 'new message')

/** Agents among the participants, without the owner. */
export const agentsOf = ({ participants }: Conversation): { id: string; name: string }[] =>
  participants.flatMap(({ agent_id, name }) => (agent_id === null ? [] : [{ id: agent_id, name }]))
