/** Audit: records of event, actor and target. Contract §10. */

import type { AuditKind } from '../../contract/audit-kinds.ts'
import { limits } from '../../contract/limits.ts'
import type { AuditList, AuditQuery, AuditRecord, EventList } from '../../contract/owner/audit.ts'
import { audit as entries } from '../../contract/owner/audit.ts'
import type { CallOptions } from '../../transport/http.ts'
import { type Call, everyItem, given, type PageOptions } from '../call.ts'
import { type FollowOptions, following } from './following.ts'

/** Filters of audit records. A record must match all of them. */
export interface AuditFilters {
  readonly kind?: AuditKind | undefined
  readonly actorId?: string | undefined
  readonly subjectId?: string | undefined
}

/** Filters, time span and page of audit records. */
export interface AuditOptions extends PageOptions, AuditFilters, CallOptions {
  /** Order of records and pages; `after` continues in it. */
  readonly order?: AuditQuery['order'] | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/** Filters and page of audit events, and the wait for new ones. */
export interface EventOptions extends PageOptions, AuditFilters, CallOptions {
  /** Seconds that the node may wait for the first record, 0 to 20. */
  readonly waitSeconds?: number | undefined
}

/** Milliseconds that an answer may take in addition to the wait. */
const answerMs = 15_000

export class OwnerAudit {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** Reads one page of a project's audit, oldest first by default. @throws not_found */
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

  /**
   * Reads the records that belong to no project: sign-ins, links, administrators.
   *
   * @throws not_permitted for a project administrator
   */
  node(options: AuditOptions = {}): Promise<AuditList> {
    const [query, rest] = queryOf(options)
    return this.#call(entries.node, { query }, rest)
  }

  /**
   * Reads the records after a cursor, and waits for the first if there are none. Without a cursor, reads the
   * latest records. The wait also ends, with an empty page, when the presence of an agent changes.
   *
   * @throws not_found; wait_limit if one sign-in has too many waits open.
   */
  events(projectId: string, options: EventOptions = {}): Promise<EventList> {
    const { after, limit, kind, actorId, subjectId, waitSeconds, ...rest } = options
    const filters = { kind, actor_id: actorId, subject_id: subjectId }
    const query = given({ after, limit, ...filters, wait_seconds: waitSeconds })
    const timeoutMs = rest.timeoutMs ?? (waitSeconds ?? 0) * 1000 + answerMs
    return this.#call(entries.events, { params: { id: projectId }, query }, { ...rest, timeoutMs })
  }

  /**
   * Yields records as they are written, without end. It starts with the latest `limit` records, or with those
   * after `after`.
   *
   * If the node is unreachable, it retries, and then continues without a gap.
   *
   * @throws as {@link events}, and LocalError `aborted`.
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
