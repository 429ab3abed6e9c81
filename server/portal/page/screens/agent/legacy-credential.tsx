/** Issues a legacy credential: a secret that the agent sends with each request. */
import { useState } from 'preact/hooks'
import type { Agent, Credential } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Choice } from '../../parts/choice.tsx'
import { ActButton } from '../../parts/dialog.tsx'
import { Visible } from '../../text/visible.tsx'
import { allRights, Scopes, scopesOf } from './scopes.tsx'

const dayMs = 86_400_000

interface Props {
  readonly project: string
  readonly agent: Agent
  /** Credentials that work, of which the new one may replace one. */
  readonly credentials: readonly Credential[]
  readonly nowMs: number
  readonly done: (secret: string) => Promise<unknown>
}

export function LegacyCredential({ project, agent, credentials, nowMs, done }: Props) {
  const [days, setDays] = useState<'1' | '30' | '0'>('30')
  const [replaces, setReplaces] = useState('')
  const [rights, setRights] = useState(allRights)
  const act = async () => {
    const { credential, secret } = await owner.credentials.issue(project, agent.id, {
      kind: 'legacy',
      scopes: scopesOf(rights),
      ...(days !== '0' && { expires_at: new Date(nowMs + Number(days) * dayMs).toISOString() }),
      ...(replaces !== '' && { replaces }),
    })
    // Clients send both as `AgentKey ID.SECRET`.
    await done(`${credential.id}.${secret}`)
  }
  return (
    <>
      <p>
        A legacy credential is a secret that crosses the network with each request. Prefer a prompt: with it
        the key never leaves the machine of the agent.
      </p>
      <p>
        <ActButton
          label="Issue a legacy credential…"
          title={
            <>
              Legacy credential for <Visible text={agent.name} />
            </>
          }
          verb="Issue the credential"
          busy="Issuing…"
          isFresh
          act={act}
        >
          <p>Whoever has the secret can act as the agent until the credential ends.</p>
          <Choice
            label="It works for"
            value={days}
            options={[
              ['1', '1 day'],
              ['30', '30 days'],
              ['0', 'as long as it is not revoked'],
            ]}
            change={setDays}
          />
          <Choice
            label="It replaces"
            value={replaces}
            options={[
              ['', 'none'],
              ...credentials.map(
                ({ id, binding, fingerprint }) => [id, `${binding} ${fingerprint}`] as const,
              ),
            ]}
            change={setReplaces}
          />
          <Scopes rights={rights} change={setRights} />
        </ActButton>
      </p>
    </>
  )
}
