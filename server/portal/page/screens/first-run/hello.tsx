/** Last step of the first run: the owner says hello, and the conversation appears below with its marks. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Agent, Conversation } from '../../../../../sdk/browser.ts'
import { freshKey } from '../../clock.ts'
import type { LiveProject } from '../../live/project.ts'
import { owner } from '../../owner.ts'
import { Refusal } from '../../parts/refusal.tsx'
import { useSubmitting } from '../../parts/submitting.ts'
import { Visible } from '../../text/visible.tsx'
import { readThread } from '../conversations/reading.ts'
import { Talk } from '../conversations/talk.tsx'

interface Props {
  readonly project: string
  readonly live: LiveProject
  /** The first agent gets the message, and asks the second one if there is one. */
  readonly agents: readonly Agent[]
  /** Called when the agent has answered. */
  readonly answered: () => void
}

export function Hello({ project, live, agents: [first, second], answered }: Props) {
  const [conversation, setConversation] = useState<string>()
  const key = useRef(freshKey())
  const { isBusy, error, submit } = useSubmitting(async () => {
    if (first === undefined) return
    const body =
      second === undefined
        ? 'Hello. Tell me in one sentence who you are.'
        : `Ask ${second.name} what two and two is, and tell me.`
    const input = { recipient_agent_id: first.id, type: 'question' as const, body }
    const { conversation_id } = await owner.messages.send(project, input, { idempotencyKey: key.current })
    setConversation(conversation_id)
  })
  return (
    <section aria-labelledby="talk">
      <h2 id="talk">Talk</h2>
      {conversation === undefined ? (
        <form onSubmit={submit}>
          <p>
            Send <Visible text={first?.name ?? ''} /> a first message, and see what becomes of it.
          </p>
          <Refusal error={error} />
          <button type="submit" disabled={isBusy}>
            {isBusy ? 'Sending…' : 'Say hello as the owner'}
          </button>
        </form>
      ) : (
        <Answers project={project} conversation={conversation} live={live} answered={answered} />
      )}
    </section>
  )
}

interface AnswersProps extends Pick<Props, 'project' | 'live' | 'answered'> {
  readonly conversation: string
}

function Answers({ project, conversation, live, answered }: AnswersProps) {
  const thread = useMemo(() => readThread(project, conversation, live, undefined), [])
  useEffect(() => thread.stop, [])
  const about: Conversation | undefined = thread.about.value
  const isAnswered = thread.messages.value.some(({ sender }) => sender.kind === 'agent')
  useEffect(() => {
    if (isAnswered) answered()
  }, [isAnswered])
  if (about === undefined) return <Refusal error={thread.error.value} />
  return <Talk project={project} about={about} live={live} thread={thread} />
}
