/** Conversations of a project: those with the owner, and those between agents. */
import { useEffect, useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import type { Conversation } from '../../../../sdk/browser.ts'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { plural } from '../words/plural.ts'
import { NewMessage } from './conversations/new-message.tsx'
import { Participants } from './conversations/participants.tsx'

export function Conversations() {
  const { id = '' } = useRoute().params
  const [all, setAll] = useState<readonly Conversation[]>()
  const [error, setError] = useState<unknown>(undefined)
  useEffect(() => {
    every(id).then(setAll, setError)
  }, [id])
  return (
    <>
      <Heading title="Conversations">Conversations</Heading>
      <Refusal error={error} />
      {all !== undefined && (
        <>
          <Group name="With you" project={id} all={all.filter(({ kind }) => kind === 'owner')} />
          <Group name="Between agents" project={id} all={all.filter(({ kind }) => kind === 'peer')} />
          <NewMessage project={id} />
        </>
      )}
    </>
  )
}

async function every(project: string): Promise<Conversation[]> {
  const all: Conversation[] = []
  for await (const each of owner.conversations.all(project)) all.push(each)
  return all.reverse()
}

interface GroupProps {
  readonly name: string
  readonly project: string
  readonly all: readonly Conversation[]
}

function Group({ name, project, all }: GroupProps) {
  return (
    <section aria-label={name}>
      <h2>{name}</h2>
      {all.length === 0 && <p class="meta">None yet.</p>}
      <ul class="rows">
        {all.map((each) => (
          <li key={each.id}>
            <a href={`/projects/${project}/conversations/${each.id}`}>
              <Participants of={each} />
            </a>{' '}
            <span class="meta">{plural(each.last_sequence, 'message')}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
