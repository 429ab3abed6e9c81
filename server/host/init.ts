/** Creates an installation, and the links by which its owner signs in. Contract §10 "Sign-in". */
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { Config } from '../config.ts'
import { migrations } from '../database/migrations/index.ts'
import type { NodeDatabase } from '../database/node-database.ts'
import { migrate } from '../database/sqlite/migrate.ts'
import { openDatabase } from '../database/sqlite/open.ts'
import { insertServer, readServerId } from '../database/sqlite/server-id.ts'
import type { Writer } from '../database/writer.ts'
import { authorityOf } from '../listening/authority.ts'
import { readCertificate } from '../listening/certificate.ts'
import { urlOf } from '../listening/exposure.ts'
import type { CycleReport } from '../maintenance/cycle.ts'
import { openStore } from '../open-store.ts'
import { linkUrl, makeLinkToken } from '../owners/links.ts'
import type { PlaceSettings } from '../packages-place.ts'
import {
  AlreadyInitialisedError,
  addressPath,
  DatabaseInitialisedError,
  databasePath,
  requireNoMove,
  requireNoRestore,
} from '../storage/data-folder.ts'
import { keyCheckOf, makeEnvelopeKey } from '../storage/envelope-keys.ts'
import { makeTelemetryToken } from '../telemetry/token.ts'
import { type RestoreOptions, type RestoreReport, restore } from './backups/restore.ts'
import { finishRestore, type RestoredOptions, type RestoredReport } from './backups/restored.ts'
import { type RotationReport, rotateEnvelopeKey } from './key-rotation.ts'
import { maintainStore } from './maintain.ts'
import { type MovedPackages, type MovePackagesOptions, movePackages } from './moves/package-stores.ts'
import { requireNoOtherNode } from './nodes.ts'

export interface Initialised {
  readonly serverId: string
  readonly setupLink: string
}

/**
 * Creates a data folder with database, server id and envelope key, and returns a one-time setup link.
 *
 * @throws AlreadyInitialisedError, DatabaseInitialisedError; ConfigError if the certificate or key is
 * unusable
 */
export async function initServer(config: Config): Promise<Initialised> {
  requireNoRestore(config.data)
  requireNoMove(config.data)
  if (existsSync(databasePath(config.data)))
    throw new AlreadyInitialisedError(`${config.data} holds an installation already`)
  // Checked here because the settings are saved: if a start cannot read these files, config.json has to be
  // edited.
  if (config.tls !== undefined) readCertificate(config.tls)
  authorityOf(config)
  const isNewKey = makeEnvelopeKey(config.envelopeKeyFile, randomBytes)
  const serverId = randomUUID()
  try {
    await createDatabase(config, serverId)
  } catch (error) {
    // A node with a key of its own could not join the nodes of that installation.
    if (isNewKey && error instanceof DatabaseInitialisedError) rmSync(config.envelopeKeyFile)
    throw error
  }
  return { serverId, setupLink: await issueSetupLink(config) }
}

async function createDatabase(
  { data, databaseUrl, envelopeKeyFile }: Config,
  serverId: string,
): Promise<void> {
  const clock = () => new Date()
  if (databaseUrl !== undefined) {
    const { createPostgresInstallation } = await import('../database/postgres/database.ts')
    if (await createPostgresInstallation(databaseUrl, serverId, clock, keyCheckOf(envelopeKeyFile))) return
    throw new DatabaseInitialisedError('the database holds an installation already')
  }
  const database = openDatabase(databasePath(data))
  try {
    migrate(database, migrations, clock)
    insertServer(database, serverId, clock())
    if (readServerId(database) !== serverId) throw new Error('the server id was not stored')
  } finally {
    database.close()
  }
}

/** Issues a new one-time setup link. Earlier ones end. @throws ApiError setup_done */
export const issueSetupLink = (config: Config): Promise<string> => issueLink(config, 'setup')

/**
 * Issues a one-time sign-in link for the owner, valid for five minutes. @throws ApiError not_found if there
 * is no owner yet
 */
export const issueOwnerLink = (config: Config): Promise<string> => issueLink(config, 'sign_in')

/** Runs maintenance once, with or without a running server. @throws NotInitialisedError */
export const maintain = (
  config: Pick<Config, 'data' | 'databaseUrl'>,
  stopping: AbortSignal,
): Promise<CycleReport> =>
  maintainStore(
    config,
    { clock: () => new Date(), monotonicMs: () => performance.now(), random: randomBytes },
    stopping,
  )

/** Restores a backup as the installation. @throws as {@link restore} */
export const restoreBackup = (options: Omit<RestoreOptions, 'monotonicMs'>): Promise<RestoreReport> =>
  restore({ ...options, monotonicMs: () => performance.now() })

/** Finishes a restore of a PostgreSQL database. @throws as {@link finishRestore} */
export const finishDatabaseRestore = (
  options: Omit<RestoredOptions, 'monotonicMs'>,
): Promise<RestoredReport> => finishRestore({ ...options, monotonicMs: () => performance.now() })

/** Moves the packages of a stopped node. @throws as {@link movePackages} */
export const movePackagesOf = (options: Omit<MovePackagesOptions, 'monotonicMs'>): Promise<MovedPackages> =>
  movePackages({ ...options, monotonicMs: () => performance.now() })

const issueLink = (config: Config, kind: 'setup' | 'sign_in'): Promise<string> =>
  withStore(config, async (maker) => linkUrl(originOf(config), kind, await makeLinkToken(maker, kind)))

/**
 * Issues a new token with which hosts report their load. The previous token ends. @throws NotInitialisedError
 */
export const issueTelemetryToken = (config: Config): Promise<string> => withStore(config, makeTelemetryToken)

/**
 * Makes a new envelope key, with or without a running server. Other nodes would still use the old key, so
 * none may be alive. @throws ConfigError, NotInitialisedError, OtherNodesError
 */
export const rotateKey = (config: Config, lost: boolean): Promise<RotationReport> =>
  withStore(config, async ({ write, random }) => {
    await requireNoOtherNode(config, readAddress(config.data)?.runsWith?.nodeName ?? config.nodeName)
    return await rotateEnvelopeKey({ write, random, path: config.envelopeKeyFile, lost })
  })

interface Maker extends Pick<NodeDatabase, 'steady'> {
  readonly write: Writer['write']
  readonly random: (bytes: number) => Buffer
}

async function withStore<T>(config: Config, act: (maker: Maker) => Promise<T>): Promise<T> {
  // Ignored: a failed write rejects its own promise, and nothing else of this store is used.
  const note = () => {}
  const store = await openStore(config, {
    clock: () => new Date(),
    monotonicMs: () => performance.now(),
    random: randomBytes,
    onFatal: note,
    onEffectError: note,
  })
  try {
    return await act({ write: store.writer.write, steady: store.steady, random: randomBytes })
  } finally {
    await store.close()
  }
}

/** The configured origin, else the address of the running server, else the address that it will listen on. */
function originOf(config: Config): string {
  if (config.portalOrigin !== '') return config.portalOrigin
  const running = readAddress(config.data)
  const scheme = config.tls === undefined ? 'http' : 'https'
  return running?.url ?? urlOf(scheme, config.host, config.port)
}

export interface Address {
  readonly url: string
  readonly pid: number
  /** Path of its certificate, if the server speaks TLS. */
  readonly cert?: string
  /**
   * Settings that may come from flags or environment instead of `config.json`. Absent if an older server
   * wrote the file.
   */
  readonly runsWith?: Pick<
    Config,
    'host' | 'portalOrigin' | 'tls' | 'trustedProxies' | 'envelopeKeyFile' | 'reserveBytes'
  > & {
    /** Absent if the packages are in the data folder. */
    readonly packages?: PlaceSettings
    /** Absent if an older server wrote the file. */
    readonly nodeName?: string
  }
}

/** Reads the address of the running server, if there is one. */
export function readAddress(data: string): Address | undefined {
  try {
    return JSON.parse(readFileSync(addressPath(data), 'utf8')) as Address
  } catch {
    // Missing, or incomplete because the server was killed: in both cases no address is known.
    return undefined
  }
}
