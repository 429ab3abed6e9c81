/** The person who is signed in: sign-ins, password, and how this browser shows the page. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { OwnerSession } from '../../../../sdk/browser.ts'
import { owner, session } from '../owner.ts'
import { Heading } from '../parts/heading.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { When } from '../parts/when.tsx'
import { Visible } from '../text/visible.tsx'
import { Display } from './settings/display.tsx'
import { Notifications } from './settings/notifications.tsx'
import { ChangePassword } from './settings/password.tsx'
import { SignIns } from './settings/sign-ins.tsx'

export function Settings() {
  const isByLink = useLocation().query.by === 'link'
  const [all, setAll] = useState<readonly OwnerSession[]>()
  const [error, setError] = useState<unknown>(undefined)
  const read = async () => {
    try {
      session.value = await owner.signIn.current()
      setAll(await everySignIn())
      setError(undefined)
    } catch (failure) {
      setError(failure)
    }
  }
  useEffect(() => void read(), [])
  return (
    <>
      <Heading title="Settings">Settings</Heading>
      <Refusal error={error} />
      {isByLink && (
        <p class="silence">
          You signed in with a link, which works once. Choose a password now: for a few minutes the page does
          not ask for the old one.
        </p>
      )}
      {session.value && <You session={session.value} />}
      {all && <SignIns all={all} read={read} />}
      <Display />
      <Notifications />
    </>
  )
}

async function everySignIn(): Promise<OwnerSession[]> {
  const all: OwnerSession[] = []
  for await (const each of owner.signIn.all()) all.push(each)
  return all.sort((one, other) => other.last_used_at.localeCompare(one.last_used_at))
}

function You({ session: { user, expires_at, fresh_until } }: { readonly session: OwnerSession }) {
  return (
    <section aria-labelledby="you">
      <h2 id="you">You</h2>
      <dl class="facts">
        <dt>Name</dt>
        <dd>
          <Visible text={user.name} />
        </dd>
        <dt>Role</dt>
        <dd>{user.role === 'owner' ? 'Owner of the node' : 'Administrator of projects'}</dd>
        <dt>Password confirmed</dt>
        <dd>
          until <When at={fresh_until} isExact />
        </dd>
        <dt>This sign-in ends</dt>
        <dd>
          <When at={expires_at} isExact /> at the latest, or after an hour without use
        </dd>
      </dl>
      <p class="actions">
        <ChangePassword />
      </p>
    </section>
  )
}
