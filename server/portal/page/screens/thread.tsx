/** One conversation: its messages, oldest at the top, and the form to write. */
import { useEffect, useMemo } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { liveProject } from '../live/project.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { Participants } from './conversations/participants.tsx'
import { readThread } from './conversations/reading.ts'
import { Sides } from './conversations/sides.tsx'
import { agentsOf, Talk } from './conversations/talk.tsx'

export function Thread() {
  const { id = '', conversation = '' } = useParams()
  const { at } = useLocation().query
  const sequence = /^[1-9]\d{0,8}$/.test(at ?? '') ? Number(at) : undefined
  return <Opened key={conversation} project={id} conversation={conversation} at={sequence} />
}

interface Props {
  readonly project: string
  readonly conversation: string
  /** Number of the message that the address names. */
  readonly at: number | undefined
}

function Opened({ project, conversation, at }: Props) {
  const live = useMemo(() => liveProject(project), [])
  const thread = useMemo(() => readThread(project, conversation, live, at), [])
  useEffect(
    () => () => {
      thread.stop()
      live.stop()
    },
    [],
  )
  const about = thread.about.value
  const error = thread.error.value
  if (about === undefined) return <Refused title="Conversation" error={error} />
  return (
    <>
      <p>
        <a href={`/projects/${project}/conversations`}>‹ Conversations</a>
      </p>
      <Heading title="Conversation">
        <Participants of={about} />
      </Heading>
      <Sides project={project} live={live} agents={agentsOf(about)} />
      <Silence live={live} />
      <Refusal error={error} />
      <Talk project={project} about={about} live={live} thread={thread} at={at} />
    </>
  )
}
