/** The loaded messages of a conversation in a long list, with what retention and the loop guard did to them. */
import { useMemo } from 'preact/hooks'
import type { Conversation, Message as Data } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { session } from '../../owner.ts'
import { act } from '../../parts/toast.tsx'
import { type Revealing, Windowed } from '../../parts/windowed.tsx'
import { exact } from '../../words/time.ts'
import { useGuard } from './guard.ts'
import { type Around, Message } from './message.tsx'
import type { Thread } from './reading.ts'

interface Props {
  readonly project: string
  readonly about: Conversation
  readonly live: LiveProject
  readonly thread: Thread
  readonly reveal: Revealing
  readonly answer: (message: Data) => void
  readonly atEnd: (isAtEnd: boolean) => void
}

export function Messages({ project, about, live, thread, reveal, answer, atEnd }: Props) {
  const messages = thread.messages.value
  const { activity = [], project: { policy } = { policy: undefined } } = live.snapshot.value ?? {}
  const newest = activity.findLast(({ subject }) => subject.id === about.id)?.id
  const guard = useGuard(project, about.id, newest)
  const around = useMemo((): Around => {
    const answers = new Map<string, number>()
    for (const { in_reply_to, sequence } of messages)
      if (in_reply_to !== null && !answers.has(in_reply_to)) answers.set(in_reply_to, sequence)
    return {
      project,
      answers,
      numbers: new Map(messages.map(({ id, sequence }) => [id, sequence])),
      nameOf: (agent) => about.participants.find(({ agent_id }) => agent_id === agent)?.name,
      isMe: (name) => name === session.peek()?.user.name,
      nowMs: () => live.nodeNow.peek(),
      answer,
      acknowledge: (message) => void act(() => thread.acknowledge([message], () => {})),
    }
  }, [messages])
  const stops = useMemo(() => stopsOf(guard, messages), [guard, messages])
  const removed = thread.removedThrough.value
  return (
    <>
      {removed > 0 && !thread.hasOlder.value && (
        <p class="divider">
          Messages up to number {removed} were removed
          {policy?.retention_days != null && ` (kept ${policy.retention_days} days)`}.
        </p>
      )}
      {messages.length === 0 && <p class="meta">No message yet.</p>}
      <Windowed
        label="Thread"
        items={messages}
        numberOf={numberOf}
        reveal={reveal}
        draw={(message) => (
          <Drawn key={message.id} message={message} around={around} stop={stops.get(message.sequence)} />
        )}
        nearStart={() => {
          if (thread.hasOlder.peek()) void thread.older()
        }}
        nearEnd={() => {
          if (thread.hasNewer.peek()) void thread.newer()
        }}
        atEnd={atEnd}
      />
    </>
  )
}

const numberOf = ({ sequence }: Data): number => sequence

interface DrawnProps {
  readonly message: Data
  readonly around: Around
  /** Time at which the guard refused the next message. */
  readonly stop: string | undefined
}

/** A message that did not change is not drawn again. */
function Drawn({ message, around, stop }: DrawnProps) {
  const answered = around.answers.get(message.id)
  const repliedTo = message.in_reply_to === null ? undefined : around.numbers.get(message.in_reply_to)
  return useMemo(
    () => (
      <>
        <Message message={message} around={around} />
        {stop !== undefined && (
          <p class="divider">
            The loop guard stopped the conversation here, {exact(stop)}. Write to let the agents go on.
          </p>
        )}
      </>
    ),
    [message, stop, answered, repliedTo],
  )
}

/** Returns the time of each stop by the number of the last message before it. */
function stopsOf(times: readonly string[], messages: readonly Data[]): ReadonlyMap<number, string> {
  const stops = new Map<number, string>()
  for (const at of times) {
    const last = messages.findLast(({ created_at }) => created_at <= at)
    if (last !== undefined) stops.set(last.sequence, at)
  }
  return stops
}
