/**
 * Removing what belonged to a deleted project: in batches that no request notices, killed anywhere and gone on with at
 * the next start.
 *
 * Every table of the store is named here, or this does not compile: it is removed, or it is said why it stays. The order
 * is that of the list, what refers to others first. In the end the file is written anew and the WAL emptied, so that
 * no file of the store still holds the texts.
 *
 * Spec §4.3 "permanently deletes owned project data … and retains a minimal owner deletion audit"; contract §10.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Context } from '../context.ts'
import type { Tables } from '../database/tables.ts'
import type { Tx } from '../database/tx.ts'
import { removePackagesOf } from '../transfers/packages/removal.ts'
import { listDeleted } from './store.ts'

/** Removes up to so many rows of a project; answers how many went. A noun that also keeps files removes them before. */
export type Removal = (tx: Tx, projectId: string, limit: number) => Promise<number>

/** It holds nothing of a project. */
const stays = 'stays'

const atOnce = 200

async function run(tx: Tx, statement: RawBuilder<unknown>): Promise<number> {
  const { numAffectedRows } = await statement.execute(tx.db)
  return Number(numAffectedRows ?? 0n)
}

/** A table with `id` and, by index, `project_id`. */
const byProject =
  (table: keyof Tables): Removal =>
  (tx, projectId, limit) =>
    run(
      tx,
      sql`delete from ${sql.table(table)} where id in
        (select id from ${sql.table(table)} where project_id = ${projectId} limit ${limit})`,
    )

/** A table that knows only the agent. */
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

/** One at a time, with its nonces: while it is there, requests that are refused still spend some. */
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

/** The stored answers of its agents, and those to people's requests in it. */
const idempotency: Removal = (tx, projectId, limit) =>
  run(
    tx,
    sql`delete from idempotency where rowid in
      (select rowid from idempotency where project_id = ${projectId}
        union all
        select mine.rowid from agents join idempotency as mine on mine.principal = agents.id
          where agents.project_id = ${projectId} limit ${limit})`,
  )

const projectAdministrators: Removal = (tx, projectId) =>
  run(tx, sql`delete from project_administrators where project_id = ${projectId}`)

const project: Removal = (tx, projectId) => run(tx, sql`delete from projects where id = ${projectId}`)

export const removals: Record<keyof Tables, Removal | typeof stays> = {
  // First: an expired claim is told by messages for as long as its task is there.
  tasks: byProject('tasks'),
  // Removed with their task.
  task_releases: async () => 0,
  idempotency,
  messages,
  transfer_secrets: (tx, projectId) =>
    run(tx, sql`delete from transfer_secrets where project_id = ${projectId}`),
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
  // Removed with their credential.
  nonces: async () => 0,
  agents: byProject('agents'),
  environments: byProject('environments'),
  audit: byProject('audit'),
  project_administrators: projectAdministrators,
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
  schema_migrations: stays,
}

/** Written anew while the server serves; a larger store waits for the next start. Nobody writes for that long. */
const scrubbedAtOnceBytes = 64 * 1024 * 1024

/**
 * Everything of a project that was marked as deleted. Its own row goes last, when no file holds anything of the rest: as
 * long as it is there, the next minute or the next start goes on.
 */
export async function removeProject(context: Context, projectId: string): Promise<void> {
  // Before the rows, which name them. Nobody uploads to a project that is unknown.
  await removePackagesOf(context, projectId)
  const { projects: _, ...rest } = removals
  let removed = 0
  for (const removal of Object.values(rest)) {
    if (removal === stays) continue
    let batch: number
    do {
      batch = await context.write((tx) => removal(tx, projectId, atOnce))
      removed += batch
    } while (batch > 0)
  }
  const isClean = (removed === 0 && context.scrubbedAtStart) || (await scrubbed(context))
  if (isClean) await context.write((tx) => project(tx, projectId, 1))
  else if (removed > 0) context.log.info('bytes of a deleted project are left until the next start')
}

async function scrubbed(context: Context): Promise<boolean> {
  try {
    return await context.scrubStore(scrubbedAtOnceBytes)
  } catch (error) {
    context.log.error({ err: error }, 'the file was not written anew after a project was deleted')
  }
  return false
}

const everyMs = 60_000

/** What an earlier run of the server left unfinished. Runs until the returned function is called. */
export function startRemovals(context: Context): () => void {
  let running = false
  const finish = async () => {
    if (running || context.stopping.aborted) return
    running = true
    try {
      for (const id of await context.read(listDeleted)) await removeProject(context, id)
    } catch (error) {
      if (!context.stopping.aborted) context.log.error({ err: error }, 'a deleted project was not removed')
    } finally {
      running = false
    }
  }
  void finish()
  const timer = setInterval(() => void finish(), everyMs)
  timer.unref()
  return () => clearInterval(timer)
}
