/**
 * The database of one process on PostgreSQL: writer, reader, nonces, ids and clock. The server opens one, and
 * so does a command on the host.
 *
 * The server joins the nodes of its database. A command on the host writes beside them, under the locks of
 * the lanes.
 */
import { ApiError } from '../../api-error.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { NotInitialisedError } from '../../storage/data-folder.ts'
import { createIds } from '../ids.ts'
import { migrations } from '../migrations/index.ts'
import { requireHere, shownUrl } from '../moved.ts'
import type { NodeDatabase, NodeDatabaseParts } from '../node-database.ts'
import { loneNode, type NodeSelf } from '../nodes.ts'
import { createSteadyClock, type Reading, type WrittenSteadyClock } from '../steady-clock.ts'
import { createChanges } from './changes.ts'
import { channelName, createChannel, requireSamePlace } from './channel.ts'
import type { DatabaseClock } from './clock.ts'
import { type ConnectionSettings, PostgresConnection, unlimitedAnswers } from './connection.ts'
import { recordKey } from './envelope-key.ts'
import { writeReading } from './group.ts'
import { placeOf, recordPlace } from './held.ts'
import { Link } from './link.ts'
import { createListeners } from './listeners.ts'
import { Membership } from './membership.ts'
import { migrate } from './migrate.ts'
import { readMoved, settleArrival } from './moving.ts'
import { isLedByOther, joinDatabase } from './nodes.ts'
import { openNonces } from './nonces.ts'
import { Opening } from './opening.ts'
import { learnPooling } from './pooler.ts'
import { requireFit, requireLocks } from './probe.ts'
import { createReader } from './reader.ts'
import { createStoredDelays } from './sign-in-delays.ts'
import { untilSpace } from './space.ts'
import { Timeline } from './timeline.ts'
import { confirmedTime, Witness } from './witness.ts'
import { createWriter } from './write-queue.ts'

export interface PostgresOptions extends NodeDatabaseParts {
  readonly url: string
  /** See {@link ConnectionSettings}. */
  readonly latestUrl?: (() => string) | undefined
  /** Direct way to the same database, by which the server hears other nodes. By default `url`. */
  readonly listen?: ConnectionSettings | undefined
  /**
   * Whether requests that touch nothing in common run side by side, with equal statements sent as one. By
   * default yes.
   */
  readonly merges?: boolean
  /** Learns the time of the database. `clock` may be its own. */
  readonly databaseClock: DatabaseClock
  /** This node, for the server. A command on the host has none. */
  readonly node?: ServingNode
  /** Id of the move by which the installation left the data folder, if it did. */
  readonly departure?: string | undefined
  /** Called once if a migration requires a newer program than this one. */
  readonly onOutdated?: (error: Error) => void
  /** Called if the beat of the node fails. */
  readonly onBeatError?: (error: unknown) => void
  /** Called if the witness file cannot be written. */
  readonly onWitnessError?: (error: unknown) => void
  /** File of the witness. */
  readonly witnessFile?: string
  /** Accepts a database that has lost confirmed writes, for the command that finishes a restore. */
  readonly finishesRestore?: boolean
  /** File of the envelope key of this node, for the server. */
  readonly envelopeKeyFile?: string | undefined
  /** Called once if the database has lost confirmed writes. */
  readonly onForgotten?: (error: Error) => void
  /** Called if `bridge server restored` has accepted a database that this node knew before. */
  readonly onAccepted?: (text: string) => void
  /** Called if a failover may have lost nonces, with the floor up to which requests are refused. */
  readonly onFailover?: (floor: number) => void
}

export interface ServingNode extends NodeSelf {
  readonly id: string
}

/** Connections for reads beside the one that writes. */
const readConnections = 4

/** A beat that takes longer is tried again on another connection. */
const beatLimits = { connectWithinMs: 3000, answerWithinMs: 6000 }

/**
 * Brings the schema up to date and opens the database. @throws UnfitDatabaseError, NotInitialisedError,
 * NewerDatabaseError, MovedError, MoveUnfinishedError, DatabaseForgotError, DatabaseServedError,
 * OutdatedProgramError, OtherEnvelopeKeyError; errors of connecting
 */
export async function openPostgresDatabase(options: PostgresOptions): Promise<NodeDatabase> {
  const { url, databaseClock, clock, monotonicMs, elapsedMs = monotonicMs, random, node } = options
  const settings: ConnectionSettings = { url, latestUrl: options.latestUrl }
  const link = new Link(settings)
  const opening = new Opening(monotonicMs)
  let membership: Membership | undefined
  try {
    const { connection } = await link.get()
    await requireFit(connection)
    await learnPooling(connection, settings)
    await learnTime(connection, databaseClock, monotonicMs)
    await migrateWith(settings, clock)
    if (options.departure !== undefined) await settleArrival(connection, options.departure)
    requireHere(await readMoved(connection), shownUrl(url))
    const serverId = await readServerId(connection)
    if (serverId === undefined) throw new NotInitialisedError('the database holds no installation')
    if (node !== undefined) await requireLocks(settings)
    const place = await placeOf(connection)
    if (node !== undefined && options.listen !== undefined) await requireSamePlace(options.listen, place)
    const { witnessFile: file, finishesRestore = false, onForgotten, onAccepted } = options
    const known = new Witness({ file, serverId, nodeId: node?.id, onForgotten, onAccepted })
    const witness = finishesRestore ? new Witness({ file: undefined, serverId }) : known
    const latest = () =>
      new Date(Math.max(clock().getTime(), Date.parse(confirmedTime(known.greatest ?? '')) || 0))
    const timeline = new Timeline({ latest, onFailover: options.onFailover })
    const check = async (on: PostgresConnection) => {
      if (finishesRestore) return
      await witness.verify(on)
      await timeline.settle(on)
    }
    await check(connection)
    link.check = check
    const { onFatal, onEffectError, onCommit, onGroup, onFull, isStorageFull } = options
    if (node !== undefined) {
      if (!finishesRestore && options.envelopeKeyFile !== undefined)
        await recordKey(connection, options.envelopeKeyFile)
      const joining = {
        ...node,
        ...{ settings: node.settings, program: node.program ?? migrations.length, finishesRestore },
      }
      await joinDatabase(connection, joining)
      // A node that needs a beat to stay a member, or to serve again, waits for no request.
      const beatLink = new Link({ ...settings, limits: beatLimits }, (open) =>
        membership?.isFresh() ? opening.onceAfterRequests(open) : opening.once(open),
      )
      membership = await Membership.start({
        ...{ link: beatLink, node: joining, load: node.load },
        ...{ monotonicMs, check, onError: options.onBeatError, onTakenOver: onFatal },
        ...{ onOutdated: options.onOutdated, onBeat: (beat) => witness.noteBeat(beat) },
      })
    }
    const ids = createIds(undefined, random)
    for (const last of [await lastId(connection), known.greatest]) if (last) ids.raise(last)
    const steady = createSteadyClock({ earlier: await lastReading(connection), ids, clock, elapsedMs })
    if (node !== undefined && !finishesRestore) {
      await recordPlace(connection)
      await witness.keep(options.onWitnessError)
    }
    const nonces = await openNonces({ connection, clock, monotonicMs, raised: () => timeline.floor })
    const nodes = membership ?? loneNode('', undefined, clock)
    // Connections that are open keep their place over a failover, and other nodes may have written since a
    // loss.
    const serves = () => nodes.isMember() && witness.holds
    const runsSideBySide = options.merges !== false
    // A pooler that forgets named statements cannot tell the types of their parameters.
    const merges = runsSideBySide && settings.forgetsNames !== true
    const writer = createWriter({
      ...{ runsSideBySide, merges, serves },
      ...{ link, opening, ids, steady, witness, timeline, membership, clock, monotonicMs, isStorageFull },
      ...{ onEffectError, onGroup, onFull, ...(onCommit && { onCommit }) },
      onTime: databaseClock.note,
      untilSpace: (signal) => untilSpace(settings, signal),
      vacuum: () => vacuum(settings),
    })
    const sharedLink = new Link(settings, (open) => opening.onceAfterRequests(open))
    sharedLink.check = check
    const reader = createReader({
      ...{ settings, opening, connections: readConnections, check, merges, monotonicMs },
    })
    return {
      ...{ serverId, nonces, steady, nodes },
      durability: () => (timeline.isSynchronous ? 'synchronous' : 'local'),
      writer,
      reader: {
        ...reader,
        read: (unit) => (serves() ? reader.read(unit) : Promise.reject(refused())),
      },
      scrubbed: false,
      ...(node !== undefined && {
        channel: createChannel(
          { settings, listen: options.listen, place, connects: (open) => opening.once(open) },
          channelName(serverId),
          node.id,
        ),
        changes: createChanges(sharedLink, reader.read),
        listeners: createListeners(sharedLink, node.id, steady.now),
        signInDelays: createStoredDelays(sharedLink, monotonicMs),
      }),
      async close() {
        await reader.close()
        await writer.close()
        await witness.close()
        if (membership?.isMember()) await noteLast(link, steady, membership.id)
        await membership?.leave()
        await sharedLink.close()
        await link.close()
      },
    }
  } catch (error) {
    await membership?.leave()
    await link.close()
    throw error
  }
}

/** Refusal while the other nodes count this one as ended, or the database has lost confirmed writes. */
const refused = (): ApiError => new ApiError('unavailable', { retryAfterMs: retryAfterMs.restart })

/** Makes the tables and the row of the installation. Returns false if there is one already. */
export async function createPostgresInstallation(
  url: string,
  serverId: string,
  clock: () => Date,
  keyCheck?: string,
): Promise<boolean> {
  const connection = await PostgresConnection.open({ url })
  try {
    await requireFit(connection)
    await migrateWith({ url }, clock)
    requireHere(await readMoved(connection), shownUrl(url))
    const { count } = await connection.query({
      text: `INSERT INTO server (one, server_id, created_at, envelope_key_check) VALUES (1, $1, $2, $3)
        ON CONFLICT DO NOTHING`,
      values: [serverId, clock().toISOString(), keyCheck ?? null],
    })
    return count === 1
  } finally {
    await connection.close()
  }
}

/** Migrates on a connection of its own, because a step may take minutes. */
async function migrateWith(settings: ConnectionSettings, clock: () => Date): Promise<void> {
  const connection = await PostgresConnection.open({ ...settings, limits: unlimitedAnswers })
  try {
    await migrate(connection, migrations, clock)
  } finally {
    await connection.close()
  }
}

async function readServerId(connection: PostgresConnection): Promise<string | undefined> {
  const { rows } = await connection.query<{ server_id: string }>({ text: 'SELECT server_id FROM server' })
  return rows[0]?.server_id
}

async function lastId(connection: PostgresConnection): Promise<string | null | undefined> {
  const { rows } = await connection.query<{ last: string | null }>({
    text: 'SELECT max(last) AS last FROM lanes',
  })
  return rows[0]?.last
}

async function lastReading(connection: PostgresConnection): Promise<Reading | undefined> {
  const { rows } = await connection.query<Reading>({ text: 'SELECT wall_ms, steady_ms FROM steady_clock' })
  return rows[0]
}

async function learnTime(
  connection: PostgresConnection,
  clock: DatabaseClock,
  monotonicMs: () => number,
): Promise<void> {
  const askedMs = monotonicMs()
  const { rows } = await connection.query<{ ms: number }>({
    text: 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
  })
  if (rows[0] !== undefined) clock.note(rows[0].ms, askedMs, monotonicMs())
}

/** Removes the space of deleted rows. Copies in the WAL and in backups are the operator's. */
async function vacuum(settings: ConnectionSettings): Promise<boolean> {
  const connection = await PostgresConnection.open({ ...settings, limits: unlimitedAnswers })
  try {
    await connection.query({ text: 'VACUUM' })
    return true
  } finally {
    await connection.close()
  }
}

/**
 * Writes a last reading of the clocks, unless another node leads. If the database does not answer, the next
 * start has an older one.
 */
async function noteLast(link: Link, steady: WrittenSteadyClock, id: string): Promise<void> {
  const { wall_ms, steady_ms } = steady.read()
  try {
    const { connection } = await link.get()
    if (!(await isLedByOther(connection, id)))
      await connection.query({ ...writeReading, values: [wall_ms, steady_ms] })
  } catch {
    // The reading that a commit wrote applies.
  }
}
