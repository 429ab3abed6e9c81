/** One task: its state, instructions, progress, result with evidence, and its timeline. */
import { type Agents, useAgents } from '../live/agents.ts'
import { type LiveProject, useLiveProject } from '../live/project.ts'
import { owner } from '../owner.ts'
import { Body } from '../parts/body.tsx'
import { Heading } from '../parts/heading.tsx'
import { Mark } from '../parts/marks.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { Refused } from '../parts/refused.tsx'
import { useParams } from '../parts/router.tsx'
import { Silence } from '../parts/silence.tsx'
import { useOne, useWhole } from '../parts/whole.ts'
import { Visible } from '../text/visible.tsx'
import { isLive, lostWords, stopWords, taskStates } from '../words/tasks.ts'
import { CancelTask } from './tasks/cancel.tsx'
import { Facts } from './tasks/facts.tsx'
import { Progress, Result } from './tasks/result.tsx'
import { Timeline } from './tasks/timeline.tsx'

export function OneTask() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  return (
    <>
      <p>
        <a href={`/projects/${id}/tasks`}>‹ Tasks</a>
      </p>
      <Silence live={live} />
      <Whole project={id} live={live} agents={useAgents(id, live)} />
    </>
  )
}

interface Props {
  readonly project: string
  readonly live: LiveProject
  readonly agents: Agents
}

function Whole({ project, live, agents: { nameOf } }: Props) {
  const { task: id = '' } = useParams()
  const following = { live, kinds: ['task.'], about: id }
  const one = useOne(`task ${id}`, (options) => owner.tasks.get(project, id, options), following)
  const timeline = useWhole(
    `timeline ${id}`,
    (options) => owner.tasks.history(project, id, options),
    following,
  )
  const task = one.items.value?.[0]?.value
  const entries = timeline.items.value ?? []
  const error = one.error.value ?? timeline.error.value
  if (task === undefined) return <Refused title="Task" error={error} />
  const holder = nameOf(task.assignee_agent_id)
  const { mark, words } = taskStates[task.state]
  const stop = stopWords(task, holder)
  const lost = lostWords(task, entries, holder)
  const { cancellation } = task
  return (
    <>
      <div class="head">
        <Heading title="Task">
          <Visible text={task.title} />
        </Heading>
        {isLive(task) && task.state !== 'cancel_requested' && (
          <CancelTask
            project={project}
            task={task}
            holder={holder}
            done={() => Promise.all([one.refresh(), timeline.refresh()])}
          />
        )}
      </div>
      <Refusal error={error} />
      <p>
        <Mark name={mark} /> <strong>{words}</strong>
        {task.outcome?.kind === 'attempts_exhausted' && `: all ${task.max_attempts} attempts are used up`}
      </p>
      {lost !== undefined && <p class="notice open">{lost}</p>}
      {stop !== undefined && <p class={stop.isOpen ? 'notice open' : 'notice'}>{stop.words}</p>}
      <Facts project={project} isStale={live.isStale} task={task} holder={holder} />
      <section aria-labelledby="instructions">
        <h2 id="instructions">Instructions</h2>
        <Body text={task.instructions} from={task.creator.name} />
      </section>
      <Progress task={task} holder={holder} />
      <Result project={project} task={task} holder={holder} />
      {cancellation !== null && cancellation.reason !== null && (
        <section aria-labelledby="reason">
          <h2 id="reason">Reason of the cancellation</h2>
          <Body text={cancellation.reason} from={cancellation.requested_by.name} />
        </section>
      )}
      <Timeline entries={entries} />
    </>
  )
}
