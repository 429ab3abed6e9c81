/** Credentials of an agent: what it proves itself with. A legacy secret can be issued behind a fold. */
import { useState } from 'preact/hooks'
import type { Credential } from '../../../../../sdk/browser.ts'
import type { Pages } from '../../live/pages.ts'
import { owner } from '../../owner.ts'
import { ActButton } from '../../parts/dialog.tsx'
import { OnceOnly } from '../../parts/once-only.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { type Secret, secretOf } from '../../parts/secret.ts'
import { Section } from '../../parts/section.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { exact } from '../../words/time.ts'
import { isLive } from '../agents/binding.ts'
import type { About } from './about.ts'
import { LegacyCredential } from './legacy-credential.tsx'

interface Props extends About {
  readonly credentials: Pages<Credential>
}

export function Credentials({ project, agent, live, credentials }: Props) {
  const nowMs = live.nodeNow.value
  const [secret, setSecret] = useState<Secret>()
  const all = credentials.items.value
  const working = all?.filter((each) => isLive(each, nowMs)) ?? []
  const ended = all?.filter((each) => !isLive(each, nowMs)) ?? []
  return (
    <Section id="credentials" title="Credentials">
      <Refusal error={credentials.error.value} />
      {all !== undefined && working.length === 0 && (
        <p>
          <Visible text={agent.name} /> has no credential that works. A prompt gives it one.
        </p>
      )}
      <ul class="rows">
        {working.map((each) => (
          <li key={each.id} class="row">
            <Facts of={each} />
            <ActButton
              label="Revoke…"
              about={`Revoke the credential ${each.fingerprint}`}
              title="Revoke the credential?"
              verb="Revoke the credential"
              busy="Revoking…"
              act={async () => {
                await owner.credentials.revoke(project, each.id)
                await credentials.refresh()
              }}
            >
              <p>
                <Visible text={agent.name} /> is refused from now on, and its open connections end. It needs a
                new prompt to come back.
              </p>
            </ActButton>
          </li>
        ))}
      </ul>
      {ended.length > 0 && (
        <details>
          <summary>{ended.length} revoked or expired</summary>
          <ul class="rows">
            {ended.map((each) => (
              <li key={each.id}>
                <Facts of={each} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {secret !== undefined && (
        <OnceOnly
          label={
            <>
              Legacy secret of <Visible text={agent.name} />
            </>
          }
          copyLabel="Copy the secret"
          secret={secret}
          note="It is shown once. Whoever has it is the agent."
          drop={() => setSecret(undefined)}
        />
      )}
      {agent.state === 'enabled' && (
        <details>
          <summary>Compatibility with older clients</summary>
          <LegacyCredential
            project={project}
            agent={agent}
            credentials={working}
            nowMs={nowMs}
            done={async (issued) => {
              setSecret(secretOf(issued))
              await credentials.refresh()
            }}
          />
        </details>
      )}
    </Section>
  )
}

function Facts({ of }: { readonly of: Credential }) {
  const { binding, fingerprint, scopes, created_at, last_used_at, expires_at, revoked_at } = of
  return (
    <div class="lines">
      <span>
        <code>{fingerprint}</code> {binding}
      </span>
      <span class="meta">
        {scopes.join(', ')} · made {exact(created_at)} ·{' '}
        {last_used_at === null ? (
          'never used'
        ) : (
          <>
            used <When at={last_used_at} />
          </>
        )}
        {revoked_at !== null && ` · revoked ${exact(revoked_at)}`}
        {expires_at !== null && ` · expires ${exact(expires_at)}`}
      </span>
    </div>
  )
}
