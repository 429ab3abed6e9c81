/** Makes the owner of a new node with the one-time link that `bridge server init` prints. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { BridgeError } from '../../../../sdk/browser.ts'
import { takeToken } from '../boot.ts'
import { owner, session } from '../owner.ts'
import { Field } from '../parts/field.tsx'
import { Heading } from '../parts/heading.tsx'
import { Password } from '../parts/password.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useSecret } from '../parts/secret.ts'
import { useSubmitting } from '../parts/submitting.ts'
import { faultsOf } from '../words/refusals.ts'

const command = 'agent-bridge server setup-link --data …'

export function SetUp() {
  const { route } = useLocation()
  const token = useSecret()
  const [hasLink] = useState(() => {
    token.current = takeToken() ?? ''
    return token.current !== ''
  })
  const [isSetUp] = useState(session.peek() !== undefined)
  const [name, setName] = useState('')
  const password = useSecret()
  const { isBusy, error, submit } = useSubmitting(async () => {
    session.value = await owner.setUp({ token: token.current, name: name.trim(), password: password.current })
    token.current = ''
    route('/', true)
  })
  // A person who is signed in shows that the node has its owner.
  if (isSetUp) return <Done way={['/', 'Open your projects']} />
  if (!hasLink) return <NoLink />
  const faults = faultsOf(error)
  const code = error instanceof BridgeError ? error.code : undefined
  if (code === 'setup_done') return <Done way={['/sign-in', 'Sign in']} />
  return (
    <main class="narrow first">
      <Heading title="Set up">Set up your node</Heading>
      <p>You become the owner: you see every message, and you decide who takes part.</p>
      <form onSubmit={submit}>
        <Field
          label="Your name"
          autocomplete="username"
          required
          maxLength={80}
          value={name}
          change={setName}
          fault={faults.name}
          hasFocus
        />
        <Password isNew secret={password} fault={faults.password} />
        {code === 'sign_in_failed' ? (
          <div class="refusal" role="alert">
            <p>
              The link was used, or it is older than 30 minutes. Make a new one on the host of the node, with
              the data folder that it was started with:
            </p>
            <p>
              <code>{command}</code>
            </p>
            <p>
              <a href="/sign-in">Sign in instead</a>
            </p>
          </div>
        ) : (
          Object.keys(faults).length === 0 && <Refusal error={error} />
        )}
        <button type="submit" disabled={isBusy}>
          {isBusy ? 'Setting up…' : 'Set up'}
        </button>
      </form>
    </main>
  )
}

function Done({ way: [address, words] }: { readonly way: readonly [address: string, words: string] }) {
  return (
    <main class="narrow">
      <Heading title="Set up">This node has its owner already</Heading>
      <p>A set-up link works once, on a new node. Nothing was changed.</p>
      <p>
        <a href={address}>{words}</a>
      </p>
    </main>
  )
}

function NoLink() {
  return (
    <main class="narrow">
      <Heading title="Set up">The set-up needs its link</Heading>
      <p>
        Open the whole link that <code>agent-bridge server init</code> printed. On the host of the node, with
        the data folder that it was started with, this command makes a new one:
      </p>
      <p>
        <code>{command}</code>
      </p>
      <p>
        <a href="/sign-in">Sign in instead</a>
      </p>
    </main>
  )
}
