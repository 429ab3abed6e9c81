/**
 * Everything that an action may use, declared and built here.
 *
 * A new service object of the server is one property of the object that `createContext` returns. Actions take
 * time and randomness from the context; only this file and `host/init.ts` make a clock or random bytes in the
 * server.
 */
import { randomBytes } from 'node:crypto'
import { uptime } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { createElapsed } from '../sdk/parts/elapsed.ts'
import type { Pace } from '../sdk/parts/receive.ts'
import type { Bus } from './bus/bus.ts'
import { createClient } from './client-package/client.ts'
import type { Config } from './config.ts'
import type { CommitListeners } from './database/commit-listeners.ts'
import type { NodeDatabase } from './database/node-database.ts'
import { TaskSides } from './database/task-sides.ts'
import { createOffers } from './delivery/in-flight.ts'
import { createOfferLog } from './delivery/offer-log.ts'
import { markOffered } from './delivery/offered.ts'
import { createOwnerViews } from './delivery/owner-views.ts'
import { createOwnerWaits } from './delivery/owner-waits.ts'
import { createPresence } from './delivery/presence.ts'
import { createPresenceChanges } from './delivery/presence-changes.ts'
import { createReceipts } from './delivery/receipts.ts'
import { shareCommits } from './delivery/shared-commits.ts'
import { sharePresence } from './delivery/shared-presence.ts'
import { createStreams } from './delivery/streams.ts'
import { createWakeups } from './delivery/wakeups.ts'
import { clientAddresses } from './http/client-address.ts'
import { createFailedSignIns } from './identity/failed-sign-ins.ts'
import { createIdentities } from './identity/identities.ts'
import { createPasswords } from './identity/password.ts'
import { createRefusals } from './identity/refusals.ts'
import { createSignInDelays } from './identity/sign-in-delays.ts'
import { createThrottle } from './identity/throttle.ts'
import type { LogStream } from './log-stream.ts'
import { createHostHistories } from './metrics/host-history.ts'
import type { Meters } from './metrics/meters.ts'
import { watchOwnHost } from './metrics/own-host.ts'
import type { Packages } from './package-store/packages.ts'
import type { Storage } from './storage/storage.ts'

/** Clocks and randomness that a test hands in; the program uses the real ones. */
export interface ServerChance {
  readonly clock?: () => Date
  readonly random?: (bytes: number) => Buffer
  /** log2 of scrypt's N for new passwords. No setting of the program changes it. */
  readonly passwordCost?: number
  /** Elapsed milliseconds, the time base of lifetimes. Changes of the wall clock do not affect it. */
  readonly elapsedMs?: () => number
  /** Monotonic milliseconds of waits, streams and limits in memory. */
  readonly monotonicMs?: () => number
  /** Least progress of the bytes of a package at an object store. */
  readonly packagePace?: Pace
  /** Replaces standard error. */
  readonly logTo?: LogStream
  /** Number of migrations that this program claims to know. */
  readonly program?: number
  /** Folder of the client package. */
  readonly clientFolder?: string
}

export interface Clocks {
  readonly clock: () => Date
  /** Monotonic milliseconds of waits, streams and limits in memory. */
  readonly monotonicMs: () => number
  /** Monotonic milliseconds of the process, which no test replaces: the store measures itself by them. */
  readonly processMs: () => number
  /** Elapsed milliseconds, the sleep of the machine included. */
  readonly elapsedMs: () => number
  /** Unpredictable bytes: tokens, codes, request ids. */
  readonly random: (bytes: number) => Buffer
}

export function createClocks(chance: ServerChance): Clocks {
  const clock = chance.clock ?? (() => new Date())
  const processMs = () => performance.now()
  const uptimeMs = () => uptime() * 1000
  return {
    clock,
    processMs,
    monotonicMs: chance.monotonicMs ?? processMs,
    elapsedMs: chance.elapsedMs ?? createElapsed({ clock, monotonicMs: processMs, uptimeMs }),
    random: chance.random ?? randomBytes,
  }
}

/** Parts of a server that exist before its context. */
export interface ContextParts extends Pick<Clocks, 'clock' | 'monotonicMs' | 'random'> {
  readonly config: Config
  readonly passwordCost: number | undefined
  readonly clientFolder: string | undefined
  readonly log: FastifyBaseLogger
  readonly store: NodeDatabase
  readonly commits: CommitListeners
  readonly bus: Bus
  readonly storage: Storage
  readonly packages: Packages
  readonly meters: Meters | undefined
  readonly portalOrigin: () => string
  readonly ownsDataFolder: () => boolean
  readonly stopping: AbortSignal
}

export type Context = Readonly<ReturnType<typeof createContext>>

export function createContext(parts: ContextParts) {
  const { config, store, clock, monotonicMs, random, stopping, bus, commits } = parts
  const hostHistories = createHostHistories()
  const presenceChanges = createPresenceChanges()
  shareCommits(bus, commits)
  const sharing = sharePresence(parts, presenceChanges)
  const presence = createPresence(store.steady, config.maxWaits, presenceChanges, sharing?.shared)
  sharing?.follow(presence)
  return {
    serverId: store.serverId,
    config,
    /** The value that owner requests must carry as Origin. Known once the server listens. */
    portalOrigin: parts.portalOrigin,
    /** Whether this process still holds the lock of the data folder. */
    ownsDataFolder: parts.ownsDataFolder,
    /** The client's address, read from the headers of the proxies that the settings list. */
    clientAddress: clientAddresses(config),
    clock,
    /** Monotonic time, for durations. */
    monotonicMs,
    /** Time base of lifetimes and windows. */
    steady: store.steady,
    /** Unpredictable bytes: tokens, codes, request ids. */
    random,
    /** Aborted when the server begins to stop. Waits then end. */
    stopping,
    log: parts.log,

    /** The only way to change a row; see `database/write-queue.ts`. */
    write: store.writer.write,
    /** Runs a query in a snapshot, on a read-only connection. */
    read: store.reader.read,
    /** Calls back once the reads that are running have ended. */
    afterReads: store.reader.afterReads,
    storeState: store.writer.state,
    /** The nodes of this installation. Work over all projects runs at the one that leads. */
    nodes: store.nodes,
    /** Where a write is when it is confirmed. */
    durability: store.durability,
    /** Checkpoints the WAL into the database file. */
    checkpointStore: store.writer.checkpoint,
    scrubStore: store.writer.scrub,
    /** Whether the start rewrote the database file. */
    scrubbedAtStart: store.scrubbed,
    /** Unix seconds. Proofs dated at or before it are refused; see `database/nonces.ts`. */
    replayFloor: store.nonces.floor,
    /** Notified after each commit, for live views. */
    commits,
    /** Free space of the data disk, and the reserve for a full disk. */
    storage: parts.storage,

    /** The package that this node hands out. */
    client: createClient(parts.clientFolder),

    identities: createIdentities(store.reader.read, bus),
    throttle: createThrottle(monotonicMs, config, bus),
    signInDelays: store.signInDelays ?? createSignInDelays(monotonicMs),
    failedSignIns: createFailedSignIns(() => store.steady.now().getTime()),
    /** Selects the refusals that the audit records. */
    refusals: createRefusals(() => store.steady.now().getTime()),
    passwords: createPasswords(random, parts.passwordCost),

    /** Tells the other nodes of the database. */
    bus,
    wakeups: createWakeups(bus),
    receipts: createReceipts(bus),
    streams: createStreams(monotonicMs),
    presence,
    /** Presence that this node shares with the others. Undefined on SQLite. */
    sharing,
    presenceChanges,
    offers: createOffers(),
    offerLog: createOfferLog(store.writer.write, markOffered),
    taskSides: new TaskSides(),
    ownerWaits: createOwnerWaits(),
    ownerViews: createOwnerViews(),

    /** The bytes of packages. */
    packages: parts.packages,
    /** Removals of packages that are in progress, by transfer. */
    packageRemovals: new Map<string, Promise<void>>(),

    /** Undefined if the settings ask for no metrics. */
    meters: parts.meters,
    /** The latest sample of this host's load. */
    ownHost: watchOwnHost(store.steady.now, stopping, (sample) =>
      hostHistories.add(sample, Date.parse(sample.sampled_at)),
    ),
    /** The load of all hosts in the last 24 hours. */
    hostHistories,
  }
}
