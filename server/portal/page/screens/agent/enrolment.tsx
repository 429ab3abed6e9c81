/** Enrolments of an agent: the prompt that makes it one, and how far the last prompt has come. */
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import type { AuditRecord, Enrollment, SnapshotAgent } from '../../../../../sdk/browser.ts'
import { owner } from '../../owner.ts'
import { AgentPrompt, type Issued, issuedOf, withoutPrompt } from '../../parts/agent-prompt.tsx'
import { ActButton } from '../../parts/dialog.tsx'
import { concerns, EnrolmentSteps, Reused } from '../../parts/enrolment-steps.tsx'
import { Older, usePages } from '../../parts/page-of.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Section } from '../../parts/section.tsx'
import { When } from '../../parts/when.tsx'
import { olderOf } from '../../parts/whole.ts'
import { Visible } from '../../text/visible.tsx'
import type { About } from './about.ts'
import { NewPrompt } from './new-prompt.tsx'

interface Props extends About {
  readonly seen: SnapshotAgent | undefined
  /** True if the agent has a credential that works. */
  readonly hasCredential: boolean
}

export function Enrolment({ project, agent, live, seen, hasCredential }: Props) {
  const { id } = agent
  const [issued, setIssued] = useState<Issued>()
  const list = usePages(
    `enrolments ${id}`,
    async (after, signal) => {
      const options = { agentId: id, order: 'newest_first', limit: 10, signal } as const
      const page = await owner.enrollments.list(project, { ...options, after })
      return { items: page.enrollments, older: olderOf(page) }
    },
    { live, kinds: ['enrollment.'] },
  )
  const all = list.items.value
  const nowMs = live.nodeNow.value
  const { activity = [], attention = [] } = live.snapshot.value ?? {}
  const reused = attention.filter((each) => each.kind === 'enrollment_reused' && each.agent?.id === id)
  const drop = () => setIssued((known) => known && withoutPrompt(known))
  const latest = all?.find((each) => each.id === issued?.enrollment_id)
  return (
    <Section id="enrolment" title="Enrolment">
      <Refusal error={list.error.value} />
      {reused.length > 0 && (
        <ul class="progress">
          {reused.map(({ subject }) => (
            <Fragment key={subject.id}>
              <Reused />
              <li>
                <a href={`/projects/${project}/audit?kind=enrollment.reused&subject=${subject.id}`}>
                  See it in the audit
                </a>
              </li>
            </Fragment>
          ))}
        </ul>
      )}
      {all?.length === 0 && issued === undefined && (
        <p>
          <Visible text={agent.name} /> has never been here. Make its prompt, and paste it into its coding
          agent.
        </p>
      )}
      {agent.state === 'enabled' && (
        <p class="actions">
          <NewPrompt
            project={project}
            agent={agent}
            hasCredential={hasCredential}
            hasPending={all?.some((each) => isPending(each, nowMs)) ?? false}
            done={(made) => setIssued(issuedOf(made))}
          />
        </p>
      )}
      {issued !== undefined && (
        <>
          {issued.prompt !== undefined && (
            <AgentPrompt
              name={agent.name}
              prompt={issued.prompt}
              expiresAt={issued.expires_at}
              isUsed={latest !== undefined && latest.state !== 'pending'}
              drop={drop}
            />
          )}
          {latest?.state !== 'revoked' && (
            <EnrolmentSteps
              name={agent.name}
              expiresAt={issued.expires_at}
              seen={seen}
              records={activity.filter((record) => concerns(record, id) && isAfter(record, latest))}
              nowMs={nowMs}
              isStale={live.isStale.value}
            />
          )}
        </>
      )}
      <ul class="rows">
        {all?.map((each) => (
          <li key={each.id} class="row">
            <span>
              <StateWords enrolment={each} nowMs={nowMs} />
              <span class="meta">
                {' '}
                {each.binding === 'device' ? 'key bound to its machine' : 'key'} · {each.scopes.join(', ')}
                {each.keep_existing && ' · keeps earlier credentials'}
              </span>
            </span>
            {isPending(each, nowMs) && (
              <ActButton
                label="Revoke…"
                title="Revoke the prompt?"
                verb="Revoke the prompt"
                busy="Revoking…"
                act={async () => {
                  await owner.enrollments.revoke(project, each.id)
                  if (each.id === issued?.enrollment_id) setIssued(undefined)
                  await list.refresh()
                }}
              >
                <p>The prompt stops working. Whoever uses it later is refused.</p>
              </ActButton>
            )}
          </li>
        ))}
      </ul>
      <Older of={list} noun="enrolments" />
    </Section>
  )
}

/** A record of an earlier prompt does not count for this one. A second use has its line above. */
const isAfter = ({ at, kind }: AuditRecord, enrolment: Enrollment | undefined): boolean =>
  enrolment !== undefined && at >= enrolment.created_at && kind !== 'enrollment.reused'

const isPending = ({ state, expires_at }: Enrollment, nowMs: number): boolean =>
  state === 'pending' && Date.parse(expires_at) > nowMs

function StateWords({ enrolment, nowMs }: { readonly enrolment: Enrollment; readonly nowMs: number }) {
  const { state, created_at, claimed_at } = enrolment
  if (claimed_at !== null)
    return (
      <>
        Claimed <When at={claimed_at} />
      </>
    )
  const words = state === 'revoked' ? 'Revoked' : isPending(enrolment, nowMs) ? 'Pending' : 'Expired'
  return (
    <>
      {words}, made <When at={created_at} />
    </>
  )
}
