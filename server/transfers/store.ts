/**
 * SQL of transfers. Every query is restricted to the project and the participant. Hot queries are compiled
 * once.
 */
import { sql } from 'kysely'
import type { TransferRole } from '../../sdk/contract/agent/transfers.ts'
import { isPairEnabled } from '../conversations/pairs.ts'
import { transferColumns } from '../database/columns.ts'
import { type PageQuery, placeOf } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { isPairOf } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import type { TransferRow } from '../database/work-tables.ts'
export type NewTransfer = Pick<
  TransferRow,
  | 'project_id'
  | 'conversation_id'
  | 'sender_agent_id'
  | 'recipient_agent_id'
  | 'filename'
  | 'size'
  | 'sha256'
  | 'mode'
  | 'encryption'
  | 'expires_at'
  | 'ends_at'
  | 'reserved_bytes'
  | 'parts'
>

export async function insertTransfer(tx: Tx, transfer: NewTransfer): Promise<TransferRow> {
  const row: TransferRow = {
    ...transfer,
    id: tx.id(),
    state: 'offered',
    stored_parts: 0,
    stored_at: null,
    removed_at: null,
    receipt_at: null,
    cleanup_sender_at: null,
    cleanup_recipient_at: null,
    created_at: tx.nowIso,
    updated_at: tx.nowIso,
  }
  await tx.db.insertInto('transfers').values(row).execute()
  return row
}

/** The columns that may change after the offer. */
export type TransferChange = Partial<
  Pick<
    TransferRow,
    | 'state'
    | 'expires_at'
    | 'ends_at'
    | 'reserved_bytes'
    | 'stored_parts'
    | 'stored_at'
    | 'removed_at'
    | 'receipt_at'
    | 'cleanup_sender_at'
    | 'cleanup_recipient_at'
  >
>

/** Updates the row and returns it. */
export async function changeTransfer<T extends TransferSummaryRow>(
  tx: Tx,
  transfer: T,
  change: TransferChange,
): Promise<T> {
  const written = { ...change, updated_at: tx.nowIso }
  await tx.db.updateTable('transfers').set(written).where('id', '=', transfer.id).execute()
  return { ...transfer, ...written }
}

const find = prepared<{ id: string; project_id: string }>()((db, p) =>
  db
    .selectFrom('transfers')
    .select(transferColumns)
    .where('id', '=', p('id'))
    .where('project_id', '=', p('project_id')),
)

export const findInProject = (db: Db, projectId: string, id: string): Promise<TransferRow | undefined> =>
  find.first(db, { id, project_id: projectId })

/** Returns a transfer that the agent sends or receives. */
export async function findForAgent(
  db: Db,
  projectId: string,
  agentId: string,
  id: string,
): Promise<TransferRow | undefined> {
  const row = await findInProject(db, projectId, id)
  return row?.sender_agent_id === agentId || row?.recipient_agent_id === agentId ? row : undefined
}

export const isPairOpen = (db: Db, transfer: TransferRow): Promise<boolean> =>
  isPairEnabled(db, transfer.sender_agent_id, transfer.recipient_agent_id)

/** Expired transfers that are still open, oldest first. `now` is in steady time. */
export const listExpired = (db: Db, now: string, limit: number): Promise<TransferRow[]> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('ends_at', 'is not', null)
    .where('ends_at', '<=', now)
    .orderBy('ends_at')
    .limit(limit)
    .execute()

/** Returns the steady time at which the next transfer expires. */
export async function nextEnd(db: Db): Promise<string | undefined> {
  const open = db.selectFrom('transfers').select('ends_at').where('ends_at', 'is not', null)
  return (await open.orderBy('ends_at').limit(1).executeTakeFirst())?.ends_at ?? undefined
}

const openIn = (db: Db, conversationId: string) =>
  db.selectFrom('transfers').where('conversation_id', '=', conversationId).where('ends_at', 'is not', null)

/** Open transfers between the two agents of a conversation. */
export const listOpenIn = (db: Db, conversationId: string): Promise<TransferSummaryRow[]> =>
  openIn(db, conversationId).select(summaryColumns).execute()

/** Number of these, which offers keep small. */
export async function countOpenIn(db: Db, conversationId: string): Promise<number> {
  const { count } = await openIn(db, conversationId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

// Literals instead of parameters, because SQLite uses a partial index only if the query repeats its condition
// literally.
const isReserved = sql<boolean>`reserved_bytes > 0`
const isPackage = sql<boolean>`mode = 'package'`

/** Bytes of the node's quota that packages use or have reserved. */
export async function reservedBytes(db: Db): Promise<number> {
  const { sum } = await db
    .selectFrom('transfers')
    .select((eb) => eb.fn.sum<number | null>('reserved_bytes').as('sum'))
    .where(isReserved)
    .executeTakeFirstOrThrow()
  return sum ?? 0
}

/** Bytes of one sender's quota that its packages use or have reserved. */
export async function reservedBytesOf(db: Db, senderId: string): Promise<number> {
  const { sum } = await db
    .selectFrom('transfers')
    .select((eb) => eb.fn.sum<number | null>('reserved_bytes').as('sum'))
    .where('sender_agent_id', '=', senderId)
    .where(isReserved)
    .executeTakeFirstOrThrow()
  return sum ?? 0
}

const unremoved = (db: Db) =>
  db.selectFrom('transfers').where(isPackage).where('ends_at', 'is', null).where('removed_at', 'is', null)

/** Packages of ended transfers whose bytes have not been removed yet. */
export async function listUnremoved(db: Db, limit: number): Promise<string[]> {
  const rows = await unremoved(db).select('id').limit(limit).execute()
  return rows.map(({ id }) => id)
}

export const findUnremoved = (db: Db, id: string): Promise<TransferRow | undefined> =>
  unremoved(db).selectAll().where('id', '=', id).executeTakeFirst()

/** Removes the record of the parts of a removed package. */
export async function forgetParts(tx: Tx, id: string): Promise<void> {
  await tx.db.deleteFrom('transfer_parts').where('transfer_id', '=', id).execute()
}

const open = prepared<{ id: string }>()((db, p) =>
  db
    .selectFrom('transfers')
    .innerJoin('projects', 'projects.id', 'transfers.project_id')
    .select('transfers.id')
    .where('transfers.id', '=', p('id'))
    .where('transfers.ends_at', 'is not', null)
    .where('projects.deleted_at', 'is', null),
)

/** Whether the bytes may still be used: the transfer is open and its project is not deleted. */
export const isOpen = async (db: Db, id: string): Promise<boolean> =>
  (await open.first(db, { id })) !== undefined

export interface TransferRange extends Pick<PageQuery, 'after' | 'order'> {
  readonly limit: number
  readonly state: TransferRow['state'] | undefined
}

/** A row as lists read it, without its parts. */
export type TransferSummaryRow = Omit<TransferRow, 'parts'>

const summaryColumns = [
  'transfers.id',
  'transfers.project_id',
  'transfers.conversation_id',
  'transfers.sender_agent_id',
  'transfers.recipient_agent_id',
  'transfers.filename',
  'transfers.size',
  'transfers.sha256',
  'transfers.mode',
  'transfers.encryption',
  'transfers.state',
  'transfers.expires_at',
  'transfers.ends_at',
  'transfers.reserved_bytes',
  'transfers.stored_parts',
  'transfers.stored_at',
  'transfers.removed_at',
  'transfers.receipt_at',
  'transfers.cleanup_sender_at',
  'transfers.cleanup_recipient_at',
  'transfers.created_at',
  'transfers.updated_at',
] as const satisfies readonly `transfers.${keyof TransferSummaryRow}`[]

export type ListedRow = TransferSummaryRow & { readonly secret_expires_at: string | null }

const inRange = (db: Db, range: TransferRange) => {
  const { limit, state } = range
  const { follows, from, direction } = placeOf(range)
  const all = db
    .selectFrom('transfers')
    .leftJoin('transfer_secrets', 'transfer_secrets.transfer_id', 'transfers.id')
    .select(summaryColumns)
    .select('transfer_secrets.expires_at as secret_expires_at')
    .where('transfers.id', follows, from)
    .orderBy('transfers.id', direction)
    .limit(limit)
  return state === undefined ? all : all.where('transfers.state', '=', state)
}

/** Requires the pairing to be enabled. "A disabled pair loses … listing." */
const hasPair = sql<boolean>`exists (select 1 from pairings where enabled = 1
  and ${isPairOf(sql.ref('transfers.sender_agent_id'), sql.ref('transfers.recipient_agent_id'))})`

/** Lists the transfers of an agent. Each role follows an index; without a role the two lists are merged. */
export async function listForAgent(
  db: Db,
  agentId: string,
  role: TransferRole | undefined,
  range: TransferRange,
): Promise<ListedRow[]> {
  const as = (column: 'sender_agent_id' | 'recipient_agent_id') =>
    inRange(db, range).where(`transfers.${column}`, '=', agentId).where(hasPair).execute()
  if (role !== undefined) return as(`${role}_agent_id`)
  const both = [...(await as('sender_agent_id')), ...(await as('recipient_agent_id'))]
  return both.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, range.limit)
}

export const listInProject = (db: Db, projectId: string, range: TransferRange): Promise<ListedRow[]> =>
  inRange(db, range).where('transfers.project_id', '=', projectId).execute()
