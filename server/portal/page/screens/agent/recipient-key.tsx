/** The age key with which peers seal for an agent. */
import { useEffect, useState } from 'preact/hooks'
import type { RecipientKey as Key } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { Section } from '../../parts/section.tsx'
import { note } from '../../parts/toast.tsx'
import { Visible } from '../../text/visible.tsx'
import { faultsOf } from '../../words/refusals.ts'
import { exact } from '../../words/time.ts'
import type { About } from './about.ts'

interface Props extends About {
  readonly refresh: () => Promise<void>
}

export function RecipientKey({ project, agent, refresh }: Props) {
  const [recipient, setRecipient] = useState('')
  const [isPrivate, setPrivate] = useState(false)
  const { recipient_key: key } = agent
  const change = (typed: string) => {
    // A private key that was pasted by mistake stays neither in the field nor in memory.
    // The browser keeps the last text that an expression was tried on, so none is tried on this one.
    const isSecret = typed.trimStart().slice(0, 15).toLowerCase() === 'age-secret-key-'
    setPrivate(isSecret)
    setRecipient(isSecret ? '' : typed)
  }
  const act = async () => {
    await owner.recipientKeys.set(project, agent.id, recipient.trim())
    note('The recipient key is set.')
    await refresh()
  }
  return (
    <Section id="recipient-key" title="Recipient key">
      {key === null ? (
        <p>
          None. Peers cannot seal for <Visible text={agent.name} />. An agent registers its key by itself when
          it first needs one.
        </p>
      ) : (
        <Facts of={key} />
      )}
      <p class="actions">
        <ActButton
          label={key === null ? 'Set…' : 'Replace…'}
          title={
            key === null ? (
              <>
                Recipient key of <Visible text={agent.name} />
              </>
            ) : (
              <>
                Replace the recipient key of <Visible text={agent.name} />?
              </>
            )
          }
          verb={key === null ? 'Set the key' : 'Replace the key'}
          busy="Saving…"
          isFresh
          fields={['recipient']}
          act={act}
          closed={() => change('')}
        >
          {(error) => (
            <>
              <p>
                Peers then seal for the new key. What was sealed before stays readable only with the old one.
              </p>
              <Field
                label="New public key"
                required
                maxLength={62}
                value={recipient}
                change={change}
                hint="Begins with age1. The private key stays on the machine of the agent."
                fault={isPrivate ? 'This is a private key. It was not sent.' : faultsOf(error).recipient}
              />
              <dl class="facts">
                {key !== null && (
                  <>
                    <dt>Old fingerprint</dt>
                    <dd>
                      <code>{key.fingerprint}</code>
                    </dd>
                  </>
                )}
                <dt>New fingerprint</dt>
                <dd>
                  <Fingerprint of={recipient.trim()} />
                </dd>
              </dl>
            </>
          )}
        </ActButton>
      </p>
    </Section>
  )
}

function Facts({ of: { fingerprint, registered_at, registered_by, recipient } }: { readonly of: Key }) {
  return (
    <dl class="facts">
      <dt>Fingerprint</dt>
      <dd>
        <code>{fingerprint}</code>
      </dd>
      <dt>Public key</dt>
      <dd>
        <code>{recipient}</code>
      </dd>
      <dt>Set by</dt>
      <dd>
        {registered_by === 'owner' ? 'the owner' : 'the agent'}, {exact(registered_at)}
      </dd>
    </dl>
  )
}

/** Fingerprint of a key that is being typed, as the node will give it. */
function Fingerprint({ of }: { readonly of: string }) {
  const [words, setWords] = useState('')
  useEffect(() => {
    let isCurrent = true
    setWords('')
    if (/^age1[02-9ac-hj-np-z]{58}$/.test(of))
      void fingerprintOf(of).then((made) => {
        if (isCurrent) setWords(made)
      })
    return () => {
      isCurrent = false
    }
  }, [of])
  return words === '' ? <span class="meta">appears when the key is complete</span> : <code>{words}</code>
}

async function fingerprintOf(recipient: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(recipient))
  return `SHA256:${btoa(String.fromCharCode(...new Uint8Array(hash))).replace(/=+$/, '')}`
}
