/** Reads the audit log for owners and waits for new records. Contract §10. */
import { limits } from '../../sdk/contract/limits.ts'
import type {
  AuditList,
  AuditQuery,
  AuditRecord,
  EventList,
  EventsQuery,
} from '../../sdk/contract/owner/audit.ts'
import { ApiError } from '../api-error.ts'
import type { Context } from '../context.ts'
import { toPage } from '../database/page.ts'
import type { AuditRow } from '../database/tables.ts'
import type { OwnerCaller } from '../identity/callers.ts'
import { readAsOwner } from '../identity/owner.ts'
import { getProject } from '../projects/store.ts'
import { findRecord, listRecords, toRecord } from './queries.ts'
import { openViewWait } from './waiting.ts'

export function listAudit(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: AuditQuery,
): Promise<AuditList> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    return auditPage(await listRecords(db, project.id, query), query)
  })
}

/** Lists the records that belong to no project. */
export function listNodeAudit(context: Context, caller: OwnerCaller, query: AuditQuery): Promise<AuditList> {
  return readAsOwner(context, caller, async (db) => auditPage(await listRecords(db, null, query), query))
}

function auditPage(rows: readonly AuditRow[], { after, limit = limits.pageDefault }: AuditQuery): AuditList {
  const { items: audit, ...page } = toPage(rows, limit, after, toRecord)
  return { audit, ...page }
}

export function getAuditRecord(
  context: Context,
  caller: OwnerCaller,
  ids: { readonly id: string; readonly record_id: string },
): Promise<AuditRecord> {
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, ids.id)
    const row = await findRecord(db, project.id, ids.record_id)
    if (row === undefined) throw new ApiError('not_found')
    return toRecord(row)
  })
}

function readEvents(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  { wait_seconds: _, ...query }: EventsQuery,
): Promise<EventList> {
  const { after, limit = limits.pageDefault } = query
  return readAsOwner(context, caller, async (db) => {
    const project = await getProject(db, caller, projectId)
    const rows =
      after === undefined
        ? (await listRecords(db, project.id, { ...query, order: 'newest_first' })).slice(0, limit).reverse()
        : await listRecords(db, project.id, query)
    const { items: events, ...page } = toPage(rows, limit, after, toRecord)
    return { events, ...page }
  })
}

/**
 * Returns the records after a cursor. If there are none, waits for the next one, or for a change of presence,
 * which ends the wait with an empty page. Access is checked again at every read, and every commit causes a read.
 */
export async function waitForEvents(
  context: Context,
  caller: OwnerCaller,
  projectId: string,
  query: EventsQuery,
  disconnected: AbortSignal,
): Promise<EventList> {
  const { wait_seconds: seconds = 0 } = query
  if (seconds === 0) return readEvents(context, caller, projectId, query)
  const { session_id: sessionId } = caller
  // Subscribes before the first read, so that a commit during that read is noticed.
  const viewWait = openViewWait(context, { sessionId, projectId }, seconds * 1000, disconnected)
  let closeWait: (() => void) | undefined
  try {
    let page = await readEvents(context, caller, projectId, query)
    if (page.events.length > 0) return page
    closeWait = context.ownerWaits.open(sessionId)
    for (;;) {
      const cause = await viewWait.next()
      if (cause === 'ended') return page
      page = await readEvents(context, caller, projectId, query)
      if (page.events.length > 0) return page
      if (cause === 'presence') {
        viewWait.told()
        return page
      }
    }
  } finally {
    viewWait.close()
    closeWait?.()
  }
}
