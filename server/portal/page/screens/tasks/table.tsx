/** Tasks as a table, newest first. On a narrow screen each row is a list of its cells. */
import type { Task } from '../../../../../sdk/browser.ts'
import type { LiveProject } from '../../live/project.ts'
import { Columns } from '../../parts/columns.tsx'
import { Mark } from '../../parts/marks.tsx'
import { Ticking } from '../../parts/ticking.tsx'
import { When } from '../../parts/when.tsx'
import { Visible } from '../../text/visible.tsx'
import { attemptWords, claimWords, dueWords, taskStates } from '../../words/tasks.ts'

interface Props {
  readonly project: string
  readonly isStale: LiveProject['isStale']
  readonly nameOf: (id: string) => string
  readonly tasks: readonly Task[]
}

const columns = ['Task', 'State', 'Assignee', 'Attempt', 'Claim', 'Due', 'Created'] as const

export function TaskTable({ project, isStale, nameOf, tasks }: Props) {
  return (
    <table class="work">
      <Columns names={columns} />
      <tbody>
        {tasks.map((task) => {
          const { mark, words } = taskStates[task.state]
          return (
            <tr key={task.id}>
              <th scope="row">
                <a href={`/projects/${project}/tasks/${task.id}`}>
                  <Visible text={task.title} />
                </a>
              </th>
              <td data-label="State">
                <Mark name={mark} /> {words}
              </td>
              <td data-label="Assignee">
                <Visible text={nameOf(task.assignee_agent_id)} />
              </td>
              <td data-label="Attempt">{attemptWords(task)}</td>
              <td data-label="Claim">
                <Ticking words={(nowMs) => claimWords(task, nowMs, isStale.value) ?? '–'} />
              </td>
              <td data-label="Due">
                <Ticking words={(nowMs) => dueWords(task, nowMs) ?? '–'} />
              </td>
              <td data-label="Created">
                <When at={task.created_at} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
