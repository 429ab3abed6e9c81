/** Facts of a task that the node has checked. */
import type { Task } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { Elsewhere } from '../../parts/elsewhere.tsx'
import { Ticking } from '../../parts/ticking.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { attemptWords, claimWords, dueWords, isLive } from '../../words/tasks.ts'
import { span } from '../../words/time.ts'

interface Props {
  readonly project: string
  readonly isStale: LiveProject['isStale']
  readonly task: Task
  readonly holder: string
}

export function Facts({ project, isStale, task, holder }: Props) {
  const { creator, claim, due_at, cancellation } = task
  const home = `/projects/${project}`
  return (
    <dl class="work-facts">
      <dt>Assignee</dt>
      <dd>
        <a href={`${home}/agents/${task.assignee_agent_id}`}>
          <Visible text={holder} />
        </a>
      </dd>
      <dt>Created by</dt>
      <dd>
        {creator.kind} <Visible text={creator.name} />, <When at={task.created_at} isExact />
      </dd>
      <dt>Attempts</dt>
      <dd>
        {attemptWords(task)}
        {task.attempts === 0 && `, ${task.max_attempts} allowed`}
      </dd>
      <dt>Claim</dt>
      <dd>
        {claim === null ? (
          isLive(task) ? (
            `none; one lasts ${span(task.claim_ttl_seconds * 1000)} unless it is renewed`
          ) : (
            'ended'
          )
        ) : (
          <>
            number {claim.generation}, since <When at={claim.claimed_at} isExact />,{' '}
            <Ticking words={(nowMs) => claimWords(task, nowMs, isStale.value)} />
          </>
        )}
      </dd>
      {due_at !== null && (
        <>
          <dt>Due</dt>
          <dd>
            <When at={due_at} isExact /> <Ticking words={(nowMs) => brackets(dueWords(task, nowMs))} />
          </dd>
        </>
      )}
      {cancellation !== null && (
        <>
          <dt>Cancellation</dt>
          <dd>
            asked by {cancellation.requested_by.kind} <Visible text={cancellation.requested_by.name} />,{' '}
            <When at={cancellation.requested_at} isExact />
          </dd>
        </>
      )}
      <Elsewhere project={project} noun="Task" of={task} />
    </dl>
  )
}

const brackets = (words: string | undefined): string => (words === undefined ? '' : `(${words})`)
