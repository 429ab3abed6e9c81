/** The audit: who did what to what. Contract §10. */

import type { AuditKind } from '../../contract/audit-kinds.ts'
import { limits } from '../../contract/limits.ts'
import type { AuditList, AuditQuery, AuditRecord, EventList } from '../../contract/owner/audit.ts'
import { audit as entries } from '../../contract/owner/audit.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'
import { type FollowOptions, following } from './following.ts'

/** Of several filters a record fits all. */
export interface AuditFilters {
  readonly kind?: AuditKind | undefined
  readonly actorId?: string | undefined
  readonly subjectId?: string | undefined
}

/** Which audit records: filters, a span of time, a page. */
export interface AuditOptions extends PageOptions, AuditFilters, CallOptions {
  /** The order of the pages too: `after` continues in it. */
  readonly order?: AuditQuery['order'] | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Which events: a page, and how long to wait for new ones. */
export interface EventOptions extends PageOptions, AuditFilters, CallOptions {
  /** How long the node may wait for the first record, 0 to 20. */
  readonly waitSeconds?: number | undefined
}

/** What an answer may take beside the wait. */
const answerMs = 15_000

export class OwnerAudit {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** One page of a project's audit, oldest first unless told otherwise. @throws not_found */
  list(projectId: string, options: AuditOptions = {}): Promise<AuditList> {
    const [query, rest] = queryOf(options)
    return this.#call(entries.list, { params: { id: projectId }, query }, rest)
  }

  /** Every record of a project, page after page. @throws not_found */
  all(projectId: string, options: AuditOptions = {}): AsyncGenerator<AuditRecord, void, undefined> {
    const read = (after = options.after) => this.list(projectId, { limit: limits.pageMax, ...options, after })
    return everyItem(read, (page) => page.audit)
  }

  /** One record. @throws not_found */
  get(projectId: string, recordId: string, options: CallOptions = {}): Promise<AuditRecord> {
    return this.#call(entries.get, { params: { id: projectId, record_id: recordId } }, options)
  }

  /** What belongs to no project: sign-ins, links, administrators. @throws not_permitted for a project administrator */
  node(options: AuditOptions = {}): Promise<AuditList> {
    const [query, rest] = queryOf(options)
    return this.#call(entries.node, { query }, rest)
  }

  /**
   * Records after a cursor, waiting for the first where there are none; without a cursor the latest ones.
   *
   * @throws not_found; wait_limit for too many waits of one sign-in.
   */
  events(projectId: string, options: EventOptions = {}): Promise<EventList> {
    const { after, limit, kind, actorId, subjectId, waitSeconds, ...rest } = options
    const filters = { kind, actor_id: actorId, subject_id: subjectId }
    const query = given({ after, limit, ...filters, wait_seconds: waitSeconds })
    const timeoutMs = rest.timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs
    return this.#call(entries.events, { params: { id: projectId }, query }, { ...rest, timeoutMs })
  }

  /**
   * Records as they are written, without end; first the latest, `limit` of them, or those after `after`.
   *
   * A node that goes away is waited for, and nothing of the time between is left out.
   *
   * @throws what {@link events} throws, and aborted.
   */
  follow(
    projectId: string,
    options: EventOptions & FollowOptions = {},
  ): AsyncGenerator<AuditRecord, void, undefined> {
    return following(options, (cursor) => this.events(projectId, { ...options, ...cursor }))
  }
}

function queryOf(options: AuditOptions): [AuditQuery, CallOptions] {
  const { after, limit, kind, actorId, subjectId, order, since, until, ...rest } = options
  const filters = { kind, actor_id: actorId, subject_id: subjectId }
  return [given({ after, limit, ...filters, order, since, until }), rest]
}
