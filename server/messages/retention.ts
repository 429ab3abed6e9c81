/**
 * Deletes old messages: of each conversation the longest prefix in which every message may be deleted.
 *
 * - A message may be deleted if it is acknowledged, and both stored and acknowledged longer ago than the
 *   project keeps messages. A message of an open task or transfer is kept, and so are all messages after it.
 * - `removed_through_sequence` changes in the same transaction, so a reader learns of every deleted message.
 *
 * Spec §3, §8; contract §10 "Retention".
 */
import { sql } from 'kysely'
import { limits } from '../../sdk/contract/limits.ts'
import { recordAudit, systemActor } from '../audit/store.ts'
import { beforeAll } from '../database/page.ts'
import { prepared } from '../database/prepared.ts'
import { bytesOf } from '../database/sql.ts'
import type { Db } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { before, within } from '../maintenance/expired.ts'
import type { Batch, BatchBudget, Job } from '../maintenance/job.ts'
import { isRemovable, type RetentionFields } from './rules.ts'

/** Number of conversations that one batch checks. */
const conversationsPerBatch = 100

const keptFields = [
  'messages.sequence',
  'messages.created_at',
  'messages.acknowledged_at',
  'tasks.state as task_state',
  'transfers.state as transfer_state',
] as const

const firstMessages = prepared<{ after: string; limit: number }>()((db, p) =>
  db
    .selectFrom('conversations')
    .innerJoin('projects', 'projects.id', 'conversations.project_id')
    .leftJoin('messages', (join) =>
      join
        .onRef('messages.conversation_id', '=', 'conversations.id')
        .on('messages.sequence', '=', sql<number>`conversations.removed_through_sequence + 1`),
    )
    .leftJoin('tasks', 'tasks.id', 'messages.task_id')
    .leftJoin('transfers', 'transfers.id', 'messages.transfer_id')
    .select(['conversations.id', 'conversations.project_id', 'projects.retention_days'])
    .select(keptFields)
    .where('conversations.id', '>', p('after'))
    // Messages of deleted projects are removed separately, without an audit record.
    .where('projects.deleted_at', 'is', null)
    .orderBy('conversations.id')
    .limit(p('limit')),
)

interface Removal {
  readonly conversation_id: string
  readonly project_id: string
  readonly removed: number
  readonly removed_through_sequence: number
}

export const messageRetention: Job = {
  name: 'messages removed',
  begin: () => {
    let cursor = beforeAll
    return async (tx, room) => {
      const candidates = await firstMessages.all(tx.db, { after: cursor, limit: conversationsPerBatch })
      const removals: Removal[] = []
      let more = candidates.length === conversationsPerBatch
      for (const { id, project_id, retention_days, ...first } of candidates) {
        // Not asked before the first removal: the query alone may take all the time of every batch.
        if (removals.length > 0 && (room.isSpent() || sumOf(removals) >= room.rows)) {
          more = true
          break
        }
        const cutoff = before(tx.now, retention_days ?? limits.retentionDays)
        if (hasMessage(first) && isRemovable(first, cutoff)) {
          const found = await removePrefix(tx, id, cutoff, { ...room, rows: room.rows - sumOf(removals) })
          removals.push({ conversation_id: id, project_id, ...found })
          // The next batch continues with this conversation.
          if (found.more) {
            more = true
            break
          }
        }
        cursor = id
      }
      await recordRemovals(tx, removals)
      return { done: sumOf(removals), more } satisfies Batch
    }
  },
}

const sumOf = (removals: readonly Removal[]): number =>
  removals.reduce((sum, { removed }) => sum + removed, 0)

type MaybeRetained = { readonly [K in keyof RetentionFields]: RetentionFields[K] | null }

const hasMessage = (message: MaybeRetained): message is MaybeRetained & RetentionFields =>
  message.created_at !== null

async function removePrefix(tx: Tx, id: string, cutoff: string, { rows, bytes }: BatchBudget) {
  const found = await oldest(tx.db, id, rows)
  const kept = found.findIndex((message) => !isRemovable(message, cutoff))
  const removable = kept < 0 ? found : found.slice(0, kept)
  const deleted = within(removable, bytes)
  const removedThrough = deleted.at(-1)?.sequence ?? 0
  await tx.db
    .deleteFrom('messages')
    .where('conversation_id', '=', id)
    .where('sequence', '<=', removedThrough)
    .execute()
  await tx.db
    .updateTable('conversations')
    .set({ removed_through_sequence: removedThrough })
    .where('id', '=', id)
    .where('removed_through_sequence', '<', removedThrough)
    .execute()
  const more = deleted.length < removable.length || (kept < 0 && found.length === rows)
  return { removed: deleted.length, removed_through_sequence: removedThrough, more }
}

const oldest = (db: Db, conversationId: string, rows: number) =>
  db
    .selectFrom('messages')
    .leftJoin('tasks', 'tasks.id', 'messages.task_id')
    .leftJoin('transfers', 'transfers.id', 'messages.transfer_id')
    .select(keptFields)
    .select(bytesOf('body').as('bytes'))
    .where('messages.conversation_id', '=', conversationId)
    .orderBy('messages.sequence')
    .limit(rows)
    .execute()

/** Writes one audit record per project of the batch. */
async function recordRemovals(tx: Tx, removals: readonly Removal[]): Promise<void> {
  for (const [project_id, ofProject] of Map.groupBy(removals, (each) => each.project_id)) {
    await recordAudit(tx, {
      kind: 'message.removed',
      actor: systemActor,
      project_id,
      subject: { type: 'project', id: project_id },
      details: {
        removed: sumOf(ofProject),
        conversations: ofProject.map(({ conversation_id, removed_through_sequence }) => ({
          conversation_id,
          removed_through_sequence,
        })),
      },
    })
  }
}
