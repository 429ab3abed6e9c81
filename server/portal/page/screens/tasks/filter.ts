/** Filters of the tasks. The address keeps them, so a reload or a shared link shows the same tasks. */
import { useLocation } from 'preact-iso/router'
import { columns } from '../../words/tasks.ts'

export const spans = [
  ['today', 'today'],
  ['7d', 'in the last 7 days'],
  ['30d', 'in the last 30 days'],
  ['all', 'at any time'],
] as const
export type Span = (typeof spans)[number][0]

export type Shown = 'all' | (typeof columns)[number]['id']

export interface Filter {
  /** Time in which an ended task was created. Tasks that have not ended are always listed. */
  readonly span: Span
  /** Id of the assignee, or empty for all. */
  readonly agent: string
  readonly view: 'board' | 'table'
  /** List that a narrow screen shows. */
  readonly show: Shown
}

const standard: Filter = { span: '7d', agent: '', view: 'board', show: 'all' }

export function useFilter(): readonly [filter: Filter, change: (to: Partial<Filter>) => void] {
  const { path, query, route } = useLocation()
  const filter: Filter = {
    span: spans.find(([each]) => each === query.span)?.[0] ?? standard.span,
    agent: /^[0-9a-f-]{36}$/.test(query.agent ?? '') ? (query.agent ?? '') : standard.agent,
    view: query.view === 'table' ? 'table' : standard.view,
    show: columns.find(({ id }) => id === query.show)?.id ?? standard.show,
  }
  const change = (to: Partial<Filter>) => {
    const next = Object.entries({ ...filter, ...to }).filter(
      ([name, value]) => value !== standard[name as keyof Filter],
    )
    const search = new URLSearchParams(next).toString()
    route(search === '' ? path : `${path}?${search}`, true)
  }
  return [filter, change]
}

const days: Readonly<Record<Span, number | undefined>> = { today: 0, '7d': 7, '30d': 30, all: undefined }

/** Returns the beginning of a span as the node writes times. Today begins at midnight of the reader. */
export function beginningOf(span: Span, nowMs: number): string {
  const count = days[span]
  if (count === undefined) return ''
  if (count > 0) return new Date(nowMs - count * 86_400_000).toISOString()
  return new Date(new Date(nowMs).setHours(0, 0, 0, 0)).toISOString()
}
