/**
 * Reads the tasks of a board: each state in which a task has not ended, and the tasks of the span.
 *
 * A task that moves between two reads may be in two lists. The newer reading of it counts.
 */
import { limits, type Task } from '../../../../../sdk/browser.ts'
import type { Pages, ReadPage } from '../../live/pages.ts'
import type { LiveProject } from '../../live/project.ts'
import { nodeNow } from '../../node-clock.ts'
import { owner } from '../../owner.ts'
import { usePages } from '../../parts/page-of.tsx'
import { olderOf } from '../../parts/whole.ts'
import type { TaskState } from '../../words/tasks.ts'
import { beginningOf, type Filter } from './filter.ts'

export interface TaskLists {
  /** Newest first. Undefined until all lists are read. */
  readonly tasks: readonly Task[] | undefined
  /** The list that holds the unfinished tasks of this state. */
  readonly of: Readonly<Partial<Record<TaskState, Pages<Task>>>>
  /** The tasks of the span. */
  readonly recent: Pages<Task>
  readonly error: unknown
  readonly refresh: () => void
}

export function useTasks(project: string, { span, agent }: Filter, live: LiveProject): TaskLists {
  const read =
    (state: TaskState | undefined): ReadPage<Task> =>
    async (after, signal) => {
      const query = { after, state, order: 'newest_first', limit: limits.pageMax, signal } as const
      const page = await owner.tasks.list(project, { ...query, assigneeAgentId: agent || undefined })
      return { items: page.tasks, older: olderOf(page) }
    }
  const ofSpan: ReadPage<Task> = async (after, signal) => {
    const page = await read(undefined)(after, signal)
    const beginning = beginningOf(span, nodeNow.peek())
    const items = page.items.filter(({ created_at }) => created_at >= beginning)
    return { items, older: items.length < page.items.length ? undefined : page.older }
  }
  const following = { live, kinds: ['task.'] }
  const name = `${project} ${agent}`
  const of = {
    open: usePages(`open ${name}`, read('open'), following),
    claimed: usePages(`claimed ${name}`, read('claimed'), following),
    cancel_requested: usePages(`cancel_requested ${name}`, read('cancel_requested'), following),
  }
  const recent = usePages(`${span} ${name}`, ofSpan, following)
  const lists = [recent, ...Object.values(of)]
  const isRead = lists.every(({ items }) => items.value !== undefined)
  return {
    tasks: isRead
      ? joined(
          recent.items.value ?? [],
          Object.values(of).flatMap(({ items }) => items.value ?? []),
        )
      : undefined,
    of,
    recent,
    error: lists.find(({ error }) => error.value !== undefined)?.error.value,
    refresh: () => {
      for (const list of lists) void list.refresh()
    },
  }
}

/** Returns the tasks of both lists, newest first. */
export function joined(recent: readonly Task[], unfinished: readonly Task[]): readonly Task[] {
  const all = new Map<string, Task>()
  for (const task of [...recent, ...unfinished]) {
    const known = all.get(task.id)
    if (known === undefined || known.updated_at <= task.updated_at) all.set(task.id, task)
  }
  return [...all.values()].sort(newestFirst)
}

const newestFirst = (a: Task, b: Task): number => (a.id < b.id ? 1 : -1)
