/** Signs in with name and password, or with the token of a one-time link. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { BridgeError } from '../../../../sdk/browser.ts'
import { hasToken, takeToken } from '../boot.ts'
import { signIn } from '../owner.ts'
import { Field } from '../parts/field.tsx'
import { Heading } from '../parts/heading.tsx'
import { Password } from '../parts/password.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useSecret } from '../parts/secret.ts'
import { useSubmitting } from '../parts/submitting.ts'

export function SignIn() {
  const { path, route } = useLocation()
  const [name, setName] = useState('')
  const password = useSecret()
  const [linkError, setLinkError] = useState<unknown>(undefined)
  const [isOpening, setOpening] = useState(hasToken)
  const enter = () => {
    if (path === '/sign-in') route('/', true)
  }
  useEffect(() => {
    const token = takeToken()
    if (token === undefined) return
    signIn({ link_token: token })
      .then((signedIn) => {
        if (path !== '/sign-in') return
        // A link works once. A new administrator has no password for the next time; the owner has one.
        route(signedIn.user.role === 'owner' ? '/?by=link' : '/settings?by=link', true)
      })
      .catch(setLinkError)
      .finally(() => setOpening(false))
  }, [])
  const { isBusy, error, submit } = useSubmitting(async () => {
    setLinkError(undefined)
    await signIn({ name: name.trim(), password: password.current })
    enter()
  })
  if (isOpening) return <p class="starting">Signing in…</p>
  const failed = isFailed(error)
  return (
    <main class="narrow">
      <Heading title="Sign in">Sign in</Heading>
      {isFailed(linkError) ? (
        <p class="refusal" role="alert">
          The link was used or is too old. On the host of the node, with the data folder that it was started
          with, <code>agent-bridge server owner-link --data …</code> makes a new one.
        </p>
      ) : (
        <Refusal error={linkError} />
      )}
      <form onSubmit={submit}>
        <Field label="Name" autocomplete="username" required value={name} change={setName} hasFocus />
        <Password secret={password} />
        {failed ? (
          <p class="refusal" role="alert">
            Name or password is wrong.
          </p>
        ) : (
          <Refusal error={error} />
        )}
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
      <p class="meta">
        Password lost? On the host of the node, with the data folder that it was started with,{' '}
        <code>agent-bridge server owner-link --data …</code> prints a link that signs the owner in.
      </p>
    </main>
  )
}

const isFailed = (error: unknown): boolean =>
  error instanceof BridgeError && (error.code === 'sign_in_failed' || error.code === 'invalid_request')
