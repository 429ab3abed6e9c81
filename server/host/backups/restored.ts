/**
 * Finishes a restore that PostgreSQL's own tools made: ends what may have been revoked or used since, as
 * `restore.ts` does with a backup of SQLite, and accepts the database as it is.
 *
 * - No server may run on the data folder or on the database.
 * - If the witness of the last server is complete and the database holds all of it, no confirmed write is lost,
 *   as after a move to another cluster. Agents then stay enabled.
 * - Ids continue above every id that the last server confirmed. Proofs that were signed before are refused.
 * - The last step accepts the database. If the command is killed before, it runs again from the start.
 *
 * Contract §3, §12.
 */
import { existsSync } from 'node:fs'
import { version } from '../../../sdk/version.ts'
import type { Config } from '../../config.ts'
import { ConfigError } from '../../config-error.ts'
import { everyLane } from '../../database/lanes.ts'
import { migrations } from '../../database/migrations/index.ts'
import { floorAfterLoss } from '../../database/nonces.ts'
import type { Standing } from '../../database/postgres/standing.ts'
import { lockDataFolder } from '../../database/sqlite/lock.ts'
import type { Tx } from '../../database/tx.ts'
import { openStore } from '../../open-store.ts'
import { databasePath, witnessPath } from '../../storage/data-folder.ts'
import { makeEnvelopeKey } from '../../storage/envelope-keys.ts'
import { hasBytes } from './package-bytes.ts'
import { restoreWithin } from './restoring.ts'
import type { Review } from './review.ts'

export interface RestoredOptions {
  readonly config: Pick<Config, 'data' | 'databaseUrl' | 'envelopeKeyFile'>
  /** The operator vouches that no credential was revoked since the backup. */
  readonly acceptCredentials: boolean
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
}

export interface RestoredReport extends Review {
  readonly data: string
  readonly server_id: string
  readonly migration: { readonly from: number; readonly to: number }
  /** Time of the last record in the database. */
  readonly newest_record_at: string
  /** Description of the lost writes, or the reason why it is another database. Null if the node found nothing. */
  readonly forgotten: string | null
  /** Whether the database holds everything that it confirmed to the last server. */
  readonly complete: boolean
  readonly envelope_key_made: boolean
}

/** The restore was finished before, and no server has served the database since. */
export class AlreadyRestoredError extends Error {
  override readonly name = 'AlreadyRestoredError'
}

/**
 * @throws ConfigError on SQLite, DataFolderLockedError or DatabaseServedError while a server runs,
 *   AlreadyRestoredError, and errors of opening the database
 */
export async function finishRestore(options: RestoredOptions): Promise<RestoredReport> {
  const { config, acceptCredentials, clock, monotonicMs, random } = options
  const { data, databaseUrl: url } = config
  if (url === undefined) {
    throw new ConfigError(
      existsSync(databasePath(data))
        ? `${data} holds an installation on SQLite, which bridge server restore FILE restores completely; this command finishes a restore of PostgreSQL`
        : 'this command finishes a restore of PostgreSQL; name the database',
    )
  }
  const { acceptDatabase, standingOf } = await import('../../database/postgres/standing.ts')
  const lock = lockDataFolder(data)
  try {
    const file = witnessPath(data)
    const standing = await standingOf(url, file, clock)
    requireUnfinished(standing)
    const failures: unknown[] = []
    const fail = (error: unknown) => failures.push(error)
    const store = await openStore(config, {
      ...{ clock, monotonicMs, random, onFatal: fail, onEffectError: fail },
      self: { name: 'restored', version, load: () => ({ percent: 0, waits: 0 }) },
      finishesRestore: true,
    })
    let review: Review & { newest: string }
    try {
      const accepted = acceptCredentials || standing.isComplete
      const { serverId, steady } = store
      review = await store.writer.write(everyLane, async (tx) => {
        const newest = await newestRecord(tx)
        await refuseEarlierProofs(tx, [newest, standing.confirmedAt, tx.nowIso].sort().at(-1) ?? '')
        const generation = 1 + (await highestGeneration(tx))
        const from = { serverId, newest, known: undefined, accepted, generation }
        const found = await restoreWithin(tx, steady, {
          ...from,
          hasBytes: (transfer) => hasBytes(data, transfer),
        })
        return { ...found, newest }
      })
      if (failures.length > 0) throw failures[0]
    } finally {
      await store.close()
    }
    const envelope_key_made = makeEnvelopeKey(config.envelopeKeyFile, random)
    await acceptDatabase(url, file, clock())
    const { newest, ...rest } = review
    return {
      ...rest,
      ...{ data, server_id: store.serverId, newest_record_at: newest, envelope_key_made },
      migration: { from: standing.migration, to: migrations.length },
      forgotten: standing.forgotten ?? null,
      complete: standing.isComplete,
    }
  } finally {
    lock.release()
  }
}

function requireUnfinished({ restoredAt }: Standing): void {
  if (restoredAt === undefined) return
  throw new AlreadyRestoredError(
    `the restore of this database was finished at ${restoredAt}, and no server has served it since`,
  )
}

/** The floor alone refuses proofs that were signed before the restore. */
async function refuseEarlierProofs(tx: Tx, latestIso: string): Promise<void> {
  const floor = floorAfterLoss(new Date(latestIso))
  await tx.db.updateTable('replay_floor').set({ floor }).where('floor', '<', floor).execute()
}

async function highestGeneration(tx: Tx): Promise<number> {
  const { highest } = await tx.db
    .selectFrom('agents')
    .select((eb) => eb.fn.max('session_generation').as('highest'))
    .executeTakeFirstOrThrow()
  return highest ?? 0
}

/** Time of the last audit record, or of the installation if there is none. */
async function newestRecord(tx: Tx): Promise<string> {
  const last = await tx.db.selectFrom('audit').select('at').orderBy('id', 'desc').limit(1).executeTakeFirst()
  if (last !== undefined) return last.at
  return (await tx.db.selectFrom('server').select('created_at').executeTakeFirstOrThrow()).created_at
}
