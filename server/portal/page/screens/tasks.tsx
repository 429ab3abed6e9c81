/** Tasks of a project: a board of five lists or a table, with filters, and the form for a new task. */
import { useAgents } from '../live/agents.ts'
import { useLiveProject } from '../live/project.ts'
import { Choice } from '../parts/choice.tsx'
import { Heading } from '../parts/heading.tsx'
import { Older } from '../parts/page-of.tsx'
import { Refusal } from '../parts/refusal.tsx'
import { useParams } from '../parts/router.tsx'
import { failureBeside, Silence } from '../parts/silence.tsx'
import { plainName } from '../text/plain-name.ts'
import { columns } from '../words/tasks.ts'
import { Board } from './tasks/board.tsx'
import { CreateTask } from './tasks/create.tsx'
import { type Filter, spans, useFilter } from './tasks/filter.ts'
import { useTasks } from './tasks/reading.ts'
import { TaskTable } from './tasks/table.tsx'

export function Tasks() {
  const { id = '' } = useParams()
  const live = useLiveProject(id)
  const { agents, nameOf } = useAgents(id, live)
  const [filter, change] = useFilter()
  const lists = useTasks(id, filter, live)
  const { tasks, recent, error } = lists
  const enabled = agents.filter(({ state }) => state === 'enabled')
  const shown = { project: id, isStale: live.isStale, nameOf }
  return (
    <>
      <div class="head">
        <Heading title="Tasks">Tasks</Heading>
        {enabled.length > 0 && <CreateTask project={id} agents={enabled} created={lists.refresh} />}
      </div>
      <Silence live={live} />
      <Filters filter={filter} change={change} agents={agents} />
      <Refusal error={failureBeside(live, error)} />
      {tasks?.length === 0 && <Empty filter={filter} change={change} />}
      {tasks !== undefined && tasks.length > 0 && filter.view === 'board' && (
        <Board {...shown} tasks={tasks} of={lists.of} show={filter.show} />
      )}
      {tasks !== undefined && tasks.length > 0 && filter.view === 'table' && (
        <TaskTable {...shown} tasks={tasks} />
      )}
      <Older of={recent} noun="tasks" />
    </>
  )
}

interface FiltersProps {
  readonly filter: Filter
  readonly change: (to: Partial<Filter>) => void
}

function Empty({ filter, change }: FiltersProps) {
  if (filter.agent === '' && filter.span === 'all')
    return <p>No task. Agents give each other tasks, and so can you with “New task”.</p>
  return (
    <p class="actions">
      No task is unfinished, and none that was created in this time has ended.
      <button type="button" class="quiet" onClick={() => change({ agent: '', span: 'all' })}>
        Show all tasks
      </button>
    </p>
  )
}

function Filters({
  filter: { agent, span, view, show },
  change,
  agents,
}: FiltersProps & { readonly agents: readonly { readonly id: string; readonly name: string }[] }) {
  const everyone: readonly (readonly [string, string])[] = [
    ['', 'all agents'],
    ...agents.map(({ id, name }) => [id, plainName(name)] as const),
  ]
  return (
    <fieldset class="work-filters" aria-label="Filters">
      <Choice label="Assignee" value={agent} options={everyone} change={(to) => change({ agent: to })} />
      <Choice
        label="Ended tasks created"
        value={span}
        options={spans}
        change={(to) => change({ span: to })}
      />
      <div class="narrow-only">
        <Choice
          label="List"
          value={show}
          options={[['all', 'all'], ...columns.map(({ id, name }) => [id, name] as const)]}
          change={(to) => change({ show: to })}
        />
      </div>
      <button
        type="button"
        class="quiet wide-only"
        onClick={() => change({ view: view === 'table' ? 'board' : 'table' })}
      >
        {view === 'table' ? 'Show as a board' : 'Show as a table'}
      </button>
    </fieldset>
  )
}
