/** Address of a message by its id: finds its conversation, and opens it there. */
import { useEffect, useState } from 'preact/hooks'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { useOwnRoute } from '../parts/own-route.ts'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'

export function MessageAddress() {
  const { id = '', message = '' } = useParams()
  const route = useOwnRoute()
  const [error, setError] = useState<unknown>(undefined)
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    find(id, message).then((path) => (path === undefined ? setMissing(true) : route(path, true)), setError)
  }, [id, message])
  if (error !== undefined) return <Refused title="Message" error={error} />
  if (!isMissing) return null
  return (
    <>
      <Heading title="Message">The message was not found</Heading>
      <p>It does not exist, it is not of this project, or the audit no longer has its record.</p>
      <p>
        The audit has no such record of a notice of the service, for example about a task, so no address leads
        to it. Look for it in its conversation.
      </p>
      <p class="actions">
        <a class="button quiet" href={`/projects/${id}/conversations`}>
          All conversations
        </a>
        <a class="button quiet" href={`/projects/${id}/audit?subject=${message}`}>
          Its other records in the audit
        </a>
      </p>
    </>
  )
}

async function find(project: string, message: string): Promise<string | undefined> {
  const { audit } = await owner.audit.list(project, { kind: 'message.sent', subjectId: message, limit: 1 })
  const { conversation_id, sequence } = audit[0]?.details ?? {}
  if (conversation_id === undefined) return undefined
  return `/projects/${project}/conversations/${conversation_id}?at=${sequence}`
}
