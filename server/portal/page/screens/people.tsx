/** Administrators: people whom the owner lets work on some of the projects. */
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { Administrator, AdministratorLink, Project } from '../../../../sdk/browser.ts'
import { owner } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { OnceOnly } from '../parts/once-only.tsx'
import { OwnerOnly } from '../parts/owner-only.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { type Secret, secretOf } from '../parts/secret.ts'
import { Visible } from '../text/visible.tsx'
import { exact } from '../words/time.ts'
import { Create } from './people/create.tsx'
import { Person } from './people/person.tsx'

export function People() {
  return (
    <OwnerOnly title="People">
      <Administrators />
    </OwnerOnly>
  )
}

interface Known {
  readonly people: readonly Administrator[]
  readonly projects: readonly Project[]
}

/** A link that signs an administrator in. */
interface Issued {
  readonly name: string
  readonly expiresAt: string
  readonly link: Secret
}

function Administrators() {
  const [known, setKnown] = useState<Known>()
  const [error, setError] = useState<unknown>(undefined)
  const [issued, setIssued] = useState<Issued>()
  const read = useCallback(async () => {
    try {
      setKnown({
        people: await every(owner.administrators.all()),
        projects: await every(owner.projects.all()),
      })
      setError(undefined)
    } catch (failure) {
      setError(failure)
    }
  }, [])
  const show = async ({ administrator, link, expires_at }: AdministratorLink) => {
    setIssued({ name: administrator.name, expiresAt: expires_at, link: secretOf(link) })
    await read()
  }
  const drop = useCallback(() => setIssued(undefined), [])
  useEffect(() => void read(), [])
  return (
    <>
      <div class="head">
        <Heading title="People">People</Heading>
        <Create issued={show} />
      </div>
      <p>An administrator sees and steers the projects that you assign, and nothing else of the node.</p>
      {issued !== undefined && (
        <section class="card once-link" aria-label="Sign-in link">
          <OnceOnly
            key={issued.expiresAt}
            label={
              <>
                Sign-in link of <Visible text={issued.name} />
              </>
            }
            copyLabel="Copy the link"
            secret={issued.link}
            note={`It works once and is shown once, until ${exact(issued.expiresAt)}. Whoever opens it chooses the password.`}
            drop={drop}
          />
        </section>
      )}
      <Refusal error={error} />
      {known?.people.length === 0 && <p>No administrator yet.</p>}
      <ul class="people">
        {known?.people.map((person) => (
          <Person key={person.id} person={person} projects={known.projects} issued={show} read={read} />
        ))}
      </ul>
    </>
  )
}

async function every<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const each of pages) all.push(each)
  return all
}
