/** Takeover: ends the session of an agent, and makes the grant with which the next one starts. */
import { useState } from 'preact/hooks'
import { limits } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Copy } from '../../parts/copy.tsx'
import { ActButton } from '../../parts/dialog.tsx'
import { OnceOnly } from '../../parts/once-only.tsx'
import { type Secret, secretOf } from '../../parts/secret.ts'
import { Section } from '../../parts/section.tsx'
import { TextArea } from '../../parts/text-area.tsx'
import { Visible } from '../../text/visible.tsx'
import { timeOfDay } from '../../words/time.ts'
import type { About } from './about.ts'
import { SessionWords } from './presence.tsx'
import type { SessionFacts } from './session.ts'

const command = 'agent-bridge session start --takeover-grant-stdin'

interface Issued {
  readonly grant: Secret
  readonly expiresAt: string
  readonly generation: number
}

interface Props extends About {
  readonly session: SessionFacts | null | undefined
}

export function Takeover({ project, agent, session }: Props) {
  const [issued, setIssued] = useState<Issued>()
  const [reason, setReason] = useState('')
  const act = async () => {
    const { grant, expires_at, generation } = await owner.takeovers.issue(
      project,
      agent.id,
      reason === '' ? {} : { reason },
    )
    setIssued({ grant: secretOf(grant), expiresAt: expires_at, generation })
    setReason('')
  }
  return (
    <Section id="takeover" title="Takeover">
      <p>
        Session: <SessionWords session={session} />.
      </p>
      <p class="meta">
        If the session is stuck, or another machine has to go on, end it here. Only who has the grant can then
        start the next one.
      </p>
      {agent.state === 'enabled' && (
        <p class="actions">
          <ActButton
            label="Take over…"
            title={
              <>
                Take over the session of <Visible text={agent.name} />?
              </>
            }
            verb="End the session"
            busy="Ending…"
            isFresh
            act={act}
          >
            <p>
              The session of <Visible text={agent.name} /> ends at once. For{' '}
              {limits.takeoverTtlSeconds.default / 60} minutes only the grant starts a new one.
            </p>
            <TextArea
              label="Reason"
              value={reason}
              change={setReason}
              maxBytes={limits.descriptionBytes}
              hint="It may stay empty. The audit keeps it"
            />
          </ActButton>
        </p>
      )}
      {issued !== undefined && (
        <>
          <OnceOnly
            label={
              <>
                Grant for the next session of <Visible text={agent.name} />
              </>
            }
            copyLabel="Copy the grant"
            secret={issued.grant}
            note={`It works once and is shown once, until ${timeOfDay(Date.parse(issued.expiresAt))}.`}
            isUsed={session != null && session.generation > issued.generation}
            drop={() => setIssued(undefined)}
          />
          <p class="actions">
            On the machine of the agent, with the grant on standard input: <code>{command}</code>
            <Copy text={command} label="Copy the command" isQuiet />
          </p>
        </>
      )}
    </Section>
  )
}
