/** One prompt with its copy button, and how far its agent has come. */
import type { AuditRecord, SnapshotAgent } from '../../../../../sdk/browser.ts'
import { AgentPrompt } from '../../parts/agent-prompt.tsx'
import { EnrolmentSteps } from '../../parts/enrolment-steps.tsx'
import { Visible } from '../../text/visible.tsx'
import type { Enrolled } from './enrolled.ts'

interface Props {
  readonly enrolled: Enrolled
  readonly seen: SnapshotAgent | undefined
  readonly records: readonly AuditRecord[]
  readonly nowMs: number
  readonly isStale: boolean
  /** Removes the prompt from the state of the screen. */
  readonly drop: () => void
}

export function Prompt({ enrolled: { agent, issued }, seen, records, nowMs, isStale, drop }: Props) {
  const isUsed = records.some(({ kind }) => kind === 'enrollment.claimed')
  return (
    <section class="card" aria-labelledby={`prompt-${agent.id}`}>
      <h2 id={`prompt-${agent.id}`}>
        <Visible text={agent.name} />
      </h2>
      {issued.prompt === undefined ? (
        <p class="meta">The code is used.</p>
      ) : (
        <AgentPrompt
          name={agent.name}
          prompt={issued.prompt}
          expiresAt={issued.expires_at}
          isUsed={isUsed}
          hasClose={false}
          drop={drop}
        />
      )}
      <EnrolmentSteps
        name={agent.name}
        expiresAt={issued.expires_at}
        {...{ seen, records, nowMs, isStale }}
      />
    </section>
  )
}
