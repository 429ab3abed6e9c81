/** Tasks in five lists. They cannot be dragged, because only its agent or creator changes a task's state. */
import type { Task } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { Mark } from '../../parts/marks.tsx'
import { Older } from '../../parts/page-of.tsx'
import { Ticking } from '../../parts/ticking.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import {
  attemptWords,
  type Column,
  claimWords,
  columns,
  dueWords,
  isIn,
  isLive,
  progressWords,
  taskStates,
} from '../../words/tasks.ts'
import type { Shown } from './filter.ts'
import type { TaskLists } from './reading.ts'

interface Props {
  readonly project: string
  readonly isStale: LiveProject['isStale']
  readonly nameOf: (id: string) => string
  readonly tasks: readonly Task[]
  readonly of: TaskLists['of']
  readonly show: Shown
}

export function Board({ tasks, show, ...more }: Props) {
  return (
    <div class="board">
      {columns.map((column) => (
        <List
          key={column.id}
          {...more}
          column={column}
          tasks={tasks.filter((task) => isIn(column, task))}
          isLeftOut={show !== 'all' && show !== column.id}
        />
      ))}
    </div>
  )
}

interface ListProps extends Omit<Props, 'show'> {
  readonly column: Column
  /** True if a narrow screen does not show it. */
  readonly isLeftOut: boolean
}

function List({ column: { id, name, states }, tasks, of, isLeftOut, ...more }: ListProps) {
  const list = of[states[0]]
  const hasOlder = list?.hasOlder.value === true
  return (
    <section class={isLeftOut ? 'column left-out' : 'column'} aria-labelledby={`column-${id}`}>
      <h2 id={`column-${id}`}>
        <Mark name={taskStates[states[0]].mark} /> {name}{' '}
        <span class="meta">
          {tasks.length}
          {hasOlder && ' or more'}
        </span>
      </h2>
      {tasks.length === 0 && <p class="meta">None.</p>}
      <ul>
        {tasks.map((task) => (
          <Card key={task.id} {...more} task={task} hasState={states.length > 1} />
        ))}
      </ul>
      {list !== undefined && <Older of={list} noun="tasks" />}
    </section>
  )
}

interface CardProps extends Pick<Props, 'project' | 'isStale' | 'nameOf'> {
  readonly task: Task
  /** True in a list of several states. */
  readonly hasState: boolean
}

function Card({ project, isStale, nameOf, task, hasState }: CardProps) {
  const { id, title, state, assignee_agent_id, updated_at } = task
  const { mark, words } = taskStates[state]
  return (
    <li class="card task">
      <a href={`/projects/${project}/tasks/${id}`}>
        <Visible text={title} />
      </a>
      {hasState && (
        <p>
          <Mark name={mark} /> {words}
        </p>
      )}
      <p class="meta">
        <Visible text={nameOf(assignee_agent_id)} /> · {attemptWords(task)}
      </p>
      <Meta words={(nowMs) => claimWords(task, nowMs, isStale.value)} />
      <Meta words={(nowMs) => (isLive(task) ? progressWords(task, nowMs) : undefined)} />
      <Meta words={(nowMs) => dueWords(task, nowMs)} />
      {!isLive(task) && (
        <p class="meta">
          <When at={updated_at} />
        </p>
      )}
    </li>
  )
}

type MetaProps = Parameters<typeof Ticking>[0]

/** A line that is absent without words. */
function Meta({ words }: MetaProps) {
  return (
    <p class="meta optional">
      <Ticking words={words} />
    </p>
  )
}
