/**
 * Removes the data of a deleted project in batches that are too small to delay requests. If the process is
 * killed, the next start resumes.
 *
 * Every table must be listed here, or the code does not compile. Each entry removes rows or says that the
 * table stays. The order is that of the list: rows that refer to others come first. Finally the node rewrites
 * the database file and empties the WAL, so that no file still contains the deleted texts.
 *
 * Spec §4.3 "permanently deletes owned project data … and retains a minimal owner deletion audit"; contract
 * §10.
 */

import { type RawBuilder, sql } from 'kysely'
import type { Context } from '../context.ts'
import { nodeLane } from '../database/lanes.ts'
import { arrival, arrivalOf } from '../database/sql.ts'
import type { Tables } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { waitAtMost } from '../package-store/bounded-wait.ts'
import { stoppedEverywhere } from '../package-store/other-nodes.ts'
import { listDeleted, listPackagesOf } from './store.ts'

/**
 * Removes up to `limit` rows of a project and returns their number. Files are removed before the rows that
 * name them.
 */
export type Removal = (tx: Tx, projectId: string, limit: number) => Promise<number>

/** The table contains no data of a project. */
const stays = 'stays'

const batchRows = 200

async function run(tx: Tx, statement: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows } = await statement.execute(tx.db)
  return Number(numAffectedRows ?? 0n)
}

/** For tables with `id` and an indexed `project_id`. */
const byProject =
  (table: keyof Tables): Removal =>
  (tx, projectId, limit) =>
    run(
      tx,
      sql`delete from ${sql.table(table)} where id in
        (select id from ${sql.table(table)} where project_id = ${projectId} limit ${limit})`,
    )

/** For tables that refer to the agent only. */
const byAgent =
  (table: keyof Tables, key: string): Removal =>
  (tx, projectId, limit) =>
    run(
      tx,
      sql`delete from ${sql.table(table)} where ${sql.ref(key)} in
        (select ${sql.ref(`mine.${key}`)} from agents
          join ${sql.table(table)} as mine on mine.agent_id = agents.id
          where agents.project_id = ${projectId} limit ${limit})`,
    )

const messages: Removal = (tx, projectId, limit) =>
  run(
    tx,
    sql`delete from messages where id in
      (select messages.id from conversations join messages on messages.conversation_id = conversations.id
        where conversations.project_id = ${projectId} limit ${limit})`,
  )

const challenges: Removal = (tx, projectId, limit) =>
  run(
    tx,
    sql`delete from challenges where challenge_sha256 in
      (select challenge_sha256 from credentials
        join challenges as mine on mine.credential_id = credentials.id
        where credentials.project_id = ${projectId} limit ${limit})`,
  )

/**
 * Removes one credential with its nonces. Both go together, because refused requests add nonces as long as
 * the credential exists.
 */
const credentials: Removal = async (tx, projectId) => {
  const one = await tx.db
    .selectFrom('credentials')
    .select('id')
    .where('project_id', '=', projectId)
    .limit(1)
    .executeTakeFirst()
  if (one === undefined) return 0
  await tx.db.deleteFrom('nonces').where('credential_id', '=', one.id).execute()
  await tx.db.deleteFrom('credentials').where('id', '=', one.id).execute()
  return 1
}

/** Removes the stored answers of the project's agents, and those of people's requests in the project. */
const idempotency: Removal = (tx, projectId, limit) =>
  run(
    tx,
    sql`delete from idempotency where ${arrival} in
      (select ${arrival} from idempotency where project_id = ${projectId}
        union all
        select ${arrivalOf('mine')} from agents join idempotency as mine on mine.principal = agents.id
          where agents.project_id = ${projectId} limit ${limit})`,
  )

/** Every row of a project at once, from a table that has few. */
const atOnceFrom =
  (table: 'project_administrators' | 'transfer_secrets' | 'transfer_parts'): Removal =>
  async (tx, projectId) => {
    const removed = await tx.db.deleteFrom(table).where('project_id', '=', projectId).executeTakeFirst()
    return Number(removed.numDeletedRows)
  }

const project: Removal = async (tx, projectId) => {
  const removed = await tx.db.deleteFrom('projects').where('id', '=', projectId).executeTakeFirst()
  return Number(removed.numDeletedRows)
}

export const removals: Record<keyof Tables, Removal | typeof stays> = {
  // First, because an expired claim produces messages as long as its task exists.
  tasks: byProject('tasks'),
  // Removed together with their task.
  task_releases: async () => 0,
  idempotency,
  messages,
  transfer_secrets: atOnceFrom('transfer_secrets'),
  transfer_parts: atOnceFrom('transfer_parts'),
  transfers: byProject('transfers'),
  conversations: byProject('conversations'),
  inboxes: byAgent('inboxes', 'agent_id'),
  recipient_keys: byAgent('recipient_keys', 'agent_id'),
  takeovers: byAgent('takeovers', 'agent_id'),
  challenges,
  pairings: byProject('pairings'),
  enrollments: byProject('enrollments'),
  sessions: byAgent('sessions', 'id'),
  credentials,
  // Removed together with their credential.
  nonces: async () => 0,
  agents: byProject('agents'),
  environments: byProject('environments'),
  audit: byProject('audit'),
  project_administrators: atOnceFrom('project_administrators'),
  projects: project,

  server: stays,
  owner_users: stays,
  owner_links: stays,
  owner_sessions: stays,
  replay_floor: stays,
  maintenance: stays,
  telemetry_token: stays,
  telemetry_hosts: stays,
  steady_clock: stays,
  moved: stays,
  schema_migrations: stays,
}

/**
 * A running server rewrites a file up to this size; writes wait meanwhile. A larger file is rewritten at the
 * next start.
 */
const maxScrubBytes = 64 * 1024 * 1024

/** Returns the packages of a project, once every node has stopped sending and receiving their bytes. */
async function stoppedPackagesOf(context: Context, projectId: string): Promise<string[]> {
  const ids = await context.read((db) => listPackagesOf(db, projectId))
  if (ids.length > 0) await stoppedEverywhere(context.nodes)
  return ids
}

/** Removes packages. This is not recorded, because the rows are deleted too. */
async function removePackages(context: Context, ids: readonly string[]): Promise<void> {
  for (const id of ids) await context.packages.remove(id)
  await context.packages.freed()
}

/**
 * Removes all data of a deleted project. The row of the project is removed last, when no file contains any of
 * its data. As long as it exists, removal is tried again every minute and at the next start.
 */
async function removeProject(context: Context, projectId: string): Promise<void> {
  // Before the rows, which name the packages. Uploads to a deleted project are refused.
  await removePackages(context, await stoppedPackagesOf(context, projectId))
  await removeRows(context, projectId)
}

/**
 * Removes all data of a project whose deletion was just committed. Never rejects, because a failure does not
 * undo the deletion. Does not wait for a store of packages that does not answer: the rows follow it.
 */
export async function removeDeleted(context: Context, projectId: string): Promise<void> {
  try {
    const packages = removePackages(context, await stoppedPackagesOf(context, projectId))
    let isOver = false
    const over = () => {
      isOver = true
    }
    const rest = packages.finally(over).then(() => removeRows(context, projectId))
    const logged = rest.catch((error: unknown) => logFailure(context, error))
    await waitAtMost(packages.catch(over))
    if (isOver) await logged
  } catch (error) {
    logFailure(context, error)
  }
}

async function removeRows(context: Context, projectId: string): Promise<void> {
  const { projects: _, ...rest } = removals
  let removed = 0
  for (const removal of Object.values(rest)) {
    if (removal === stays) continue
    let batch: number
    do {
      batch = await context.write(projectId, (tx) => removal(tx, projectId, batchRows))
      removed += batch
    } while (batch > 0)
  }
  const isClean = (removed === 0 && context.scrubbedAtStart) || (await scrub(context))
  if (isClean) await context.write([projectId, nodeLane], (tx) => project(tx, projectId, 1))
  else if (removed > 0)
    context.log.info('bytes of a deleted project remain in the database file until the next start')
}

function logFailure(context: Context, error: unknown): void {
  if (!context.stopping.aborted) context.log.error({ err: error }, 'failed to remove a deleted project')
}

async function scrub(context: Context): Promise<boolean> {
  try {
    return await context.scrubStore(maxScrubBytes)
  } catch (error) {
    context.log.error({ err: error }, 'failed to rewrite the database file after deleting a project')
  }
  return false
}

const everyMs = 60_000

/**
 * Finishes removals that were interrupted, now and every minute, until the returned function is called. Of
 * several nodes, the one that leads does.
 */
export function startRemovals(context: Context): () => void {
  let running = false
  const finish = async () => {
    if (running || context.stopping.aborted || !context.nodes.leads()) return
    running = true
    try {
      for (const id of await context.read(listDeleted)) await removeProject(context, id)
    } catch (error) {
      logFailure(context, error)
    } finally {
      running = false
    }
  }
  void finish()
  context.nodes.onLead(() => void finish())
  const timer = setInterval(() => void finish(), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
