/** Filters of the audit. The address of the page has them, so that they survive a reload and can be shared. */
import type { AuditKind } from '../../../../../sdk/contract/audit-kinds.ts'
import { isKind } from '../../words/audit.ts'

export interface Filters {
  readonly kind?: AuditKind | undefined
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  /** Times in UTC, as the node reads them. */
  readonly since?: string | undefined
  readonly until?: string | undefined
}

const names = ['kind', 'actor', 'subject', 'since', 'until'] as const

const id = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

export const isId = (text: string | undefined): text is string => id.test(text ?? '')

/** Reads the filters of an address. A value that the node would refuse counts as none. */
export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  const time = (text: string | undefined) =>
    text === undefined || Number.isNaN(Date.parse(text)) ? undefined : new Date(text).toISOString()
  return {
    kind: isKind(query.kind) ? query.kind : undefined,
    actor: isId(query.actor) ? query.actor : undefined,
    subject: isId(query.subject) ? query.subject : undefined,
    since: time(query.since),
    until: time(query.until),
  }
}

export function addressOf(path: string, filters: Filters): string {
  const set = names.flatMap((name) => {
    const value = filters[name]
    return value === undefined ? [] : [[name, value]]
  })
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`
}

/** The filters as the SDK takes them. */
export const optionsOf = ({ kind, actor, subject, since, until }: Filters) => ({
  ...{ kind, actorId: actor, subjectId: subject, since, until },
})

export const isFiltered = (filters: Filters): boolean => names.some((name) => filters[name] !== undefined)

/** Text of a `datetime-local` field in the zone that the reader prefers. */
export function fieldOf(iso: string | undefined, zone: 'local' | 'utc'): string {
  if (iso === undefined) return ''
  const date = new Date(iso)
  const shifted = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}

/** Returns undefined for an empty or incomplete field. */
export function timeOf(field: string, zone: 'local' | 'utc'): string | undefined {
  const date = new Date(zone === 'utc' ? `${field}Z` : field)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}
