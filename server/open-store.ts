/** Opens the database that the settings name. The driver of PostgreSQL is loaded only if one is named. */
import { existsSync } from 'node:fs'
import type { Config, DatabaseListen } from './config.ts'
import { ConfigError } from './config-error.ts'
import type { NodeDatabase, NodeDatabaseParts } from './database/node-database.ts'
import type { NodeSelf } from './database/nodes.ts'
import { createDatabaseClock, type DatabaseClock } from './database/postgres/clock.ts'
import { openNodeDatabase } from './database/sqlite/database.ts'
import { movedOf } from './database/sqlite/moving.ts'
import { latestUrlOf } from './database-url.ts'
import { databasePath, requireNoMove, witnessPath } from './storage/data-folder.ts'

export interface StoreOptions extends NodeDatabaseParts {
  /** Learns the time of a PostgreSQL database. `clock` may be its own. */
  readonly databaseClock?: DatabaseClock | undefined
  /** This node, if this is the server. */
  readonly self?: NodeSelf
  /** Called if a PostgreSQL database does not answer the beat of this node. */
  readonly onBeatError?: (error: unknown) => void
  /** Called if a node on PostgreSQL cannot write its witness file. It tries again every second. */
  readonly onWitnessError?: (error: unknown) => void
  /** Called once if a PostgreSQL database requires a newer program than this one. */
  readonly onOutdated?: (error: Error) => void
  /** Called once if a PostgreSQL database has lost confirmed writes. */
  readonly onForgotten?: (error: Error) => void
  /** Called if `bridge server restored` has accepted a PostgreSQL database that this node knew before. */
  readonly onAccepted?: (text: string) => void
  /** Called if a failover of PostgreSQL may have lost nonces, with the raised replay floor. */
  readonly onFailover?: (floor: number) => void
  /** Accepts a PostgreSQL database that has lost confirmed writes. */
  readonly finishesRestore?: boolean
}

type StoreSettings = Pick<Config, 'data' | 'databaseUrl'> &
  Partial<
    Pick<
      Config,
      'databaseUrlFile' | 'databaseHost' | 'databaseListen' | 'envelopeKeyFile' | 'mergeStatements'
    >
  >

/**
 * Returns the id of the move by which the installation left SQLite in this folder. Undefined if the folder
 * never held SQLite. @throws ConfigError if it holds an installation
 */
function departureFrom(data: string): string | undefined {
  if (!existsSync(databasePath(data))) return undefined
  const moved = movedOf(data)
  if (moved?.state === 'left') return moved.move_id
  throw new ConfigError(
    `${data} holds an installation on SQLite; bridge server move moves it, else give this database a data folder of its own`,
  )
}

const latest = ({ url, file }: DatabaseListen, host: string | undefined) =>
  file === undefined ? {} : { latestUrl: latestUrlOf(file, url, host) }

/** @throws NotInitialisedError, NewerDatabaseError; errors of opening the database */
export async function openStore(settings: StoreSettings, options: StoreOptions): Promise<NodeDatabase> {
  const { data, databaseUrl: url, databaseUrlFile: file, databaseListen, envelopeKeyFile } = settings
  const { mergeStatements: merges, databaseHost: host } = settings
  requireNoMove(data)
  const { databaseClock, self, random, monotonicMs, clock } = options
  if (url === undefined) return openNodeDatabase({ data, ...options })
  const { openPostgresDatabase } = await import('./database/postgres/database.ts')
  const departure = departureFrom(data)
  return openPostgresDatabase({
    ...options,
    ...{ url, departure, envelopeKeyFile },
    ...(merges !== undefined && { merges }),
    witnessFile: witnessPath(data),
    ...latest({ url, file }, host),
    ...(databaseListen && { listen: { url: databaseListen.url, ...latest(databaseListen, host) } }),
    databaseClock: databaseClock ?? createDatabaseClock(monotonicMs, clock),
    ...(self && { node: { ...self, id: random(16).toString('hex') } }),
  })
}
