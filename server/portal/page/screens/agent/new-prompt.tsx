/** Button and dialog that make a prompt for an agent. */
import { useState } from 'preact/hooks'
import type { Agent, EnrollmentIssued } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { Choice } from '../../parts/choice.tsx'
import { ActButton } from '../../parts/dialog.tsx'
import { Visible } from '../../text/visible.tsx'
import { allRights, Scopes, scopesOf } from './scopes.tsx'

const lifetimes = [
  ['600', '10 minutes'],
  ['3600', '1 hour'],
  ['28800', '8 hours'],
  ['86400', '24 hours'],
] as const

interface Props {
  readonly project: string
  readonly agent: Agent
  readonly hasCredential: boolean
  /** True if an earlier prompt still works. */
  readonly hasPending: boolean
  readonly done: (issued: EnrollmentIssued) => void
}

export function NewPrompt({ project, agent, hasCredential, hasPending, done }: Props) {
  const [binding, setBinding] = useState<'key' | 'device'>('key')
  const [ttl, setTtl] = useState<(typeof lifetimes)[number][0]>('3600')
  const [rights, setRights] = useState(allRights)
  const [isKept, keep] = useState(false)
  const act = async () => {
    done(
      await owner.enrollments.create(project, agent.id, {
        binding,
        ttl_seconds: Number(ttl),
        scopes: scopesOf(rights),
        keep_existing: isKept,
      }),
    )
  }
  return (
    <ActButton
      label="New prompt…"
      title={
        <>
          New prompt for <Visible text={agent.name} />
        </>
      }
      verb="Make the prompt"
      busy="Making…"
      isFresh
      act={act}
    >
      <p>
        {hasPending && 'Its older prompt stops working when you make a new one. '}
        {hasCredential && !isKept && 'Its present credential ends when the new prompt is used.'}
      </p>
      <Choice label="The prompt works for" value={ttl} options={lifetimes} change={setTtl} />
      <Choice
        label="Proof"
        value={binding}
        options={[
          ['key', 'a key'],
          ['device', 'a key bound to its machine'],
        ]}
        change={setBinding}
      />
      <Scopes rights={rights} change={setRights} />
      {hasCredential && (
        <label class="check">
          <input type="checkbox" checked={isKept} onChange={() => keep(!isKept)} /> Keep its earlier
          credentials
        </label>
      )}
    </ActButton>
  )
}
