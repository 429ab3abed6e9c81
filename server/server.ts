/**
 * One running server: database, context, HTTP and shutdown.
 *
 * When the server stops, readiness turns false, waits end, another node leads, requests in flight finish, and
 * the database is checkpointed and closed. Connections that are still open after ten seconds are closed.
 */
import { rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { version } from '../sdk/version.ts'
import { createApp, useRoutes } from './app.ts'
import { type Bus, NodeBus, noBus } from './bus/bus.ts'
import type { Config } from './config.ts'
import { type Clocks, type Context, createClocks, createContext, type ServerChance } from './context.ts'
import { createCommitListeners } from './database/commit-listeners.ts'
import type { NodeDatabase } from './database/node-database.ts'
import { createDatabaseClock, type DatabaseClock } from './database/postgres/clock.ts'
import { lockDataFolder } from './database/sqlite/lock.ts'
import { startAccessRecheck, startRecheck } from './delivery/recheck.ts'
import { startSharedRecheck } from './delivery/shared-recheck.ts'
import { finishReplacement } from './host/backups/replacing.ts'
import type { Address } from './host/init.ts'
import { answerHeadersFor } from './http/responses.ts'
import { useSocket } from './inbox/upgrade.ts'
import { authorityOf } from './listening/authority.ts'
import { type Renewal, readCertificate, warnOfExpiry, watchCertificate } from './listening/certificate.ts'
import { localHost, type TlsFiles, urlOf } from './listening/exposure.ts'
import { startNoncePurge } from './maintenance/nonces.ts'
import { startMaintenance } from './maintenance/schedule.ts'
import { jobsOf } from './maintenance-jobs.ts'
import { listenForScrapes, type ScrapeListener } from './metrics/listener.ts'
import type { WatchingMeters } from './metrics/registry.ts'
import { loadOf, observe } from './observe.ts'
import { openPackages, requireNoneElsewhere } from './open-packages.ts'
import { openStore } from './open-store.ts'
import { linkUrl, makeFirstToken } from './owners/links.ts'
import { hasOpenSetup } from './owners/store.ts'
import type { Packages } from './package-store/packages.ts'
import { packageStoreOf } from './packages-place.ts'
import { startRemovals } from './projects/removal.ts'
import { addressPath } from './storage/data-folder.ts'
import { isEnvelopeKey } from './storage/envelope-keys.ts'
import { openStorage } from './storage/storage.ts'
import { startClaimReconciling } from './tasks/expired-claims.ts'
import { startTransferUpkeep } from './transfers/upkeep.ts'

export interface RunningServer {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly serverId: string
  /** A new one-time link, if there is no owner and no earlier link is still valid. */
  readonly setupLink: string | undefined
  /** URL of the metrics. Undefined if metrics are off. */
  readonly metricsUrl: string | undefined
  /**
   * Resolves with the exit code: 0 after a clean stop, 1 if the database failed, 7 if it requires a newer
   * program.
   */
  readonly finished: Promise<number>
  /** Reads certificate and key again. Does nothing without TLS. */
  reloadCertificate(): void
  stop(): Promise<void>
}

const graceMs = 10_000
const outdatedCode = 7

export async function startServer(config: Config, chance: ServerChance = {}): Promise<RunningServer> {
  const { databaseClock, ...clocks } = createStoreClocks(config, chance)
  const { clock, monotonicMs, processMs, elapsedMs, random } = clocks
  const { logLevel, tls } = config
  const certificate = tls && readCertificate(tls)
  // An unusable file ends the start, not the first prompt.
  authorityOf(config)
  const lock = lockDataFolder(config.data)
  const answerHeaders = answerHeadersFor(config)
  const app = createApp({ logLevel, logTo: chance.logTo, random, answerHeaders, certificate })
  const end = Promise.withResolvers<number>()
  const stopping = new AbortController()
  const commits = createCommitListeners()
  const outdated = Promise.withResolvers<void>()
  let store: NodeDatabase | undefined
  let scrapes: ScrapeListener | undefined
  let bus = noBus
  let serving: Context | undefined
  let packages: Packages | undefined
  try {
    const meters = config.metrics && (await loadMeters())
    if (finishReplacement(config.data)) app.log.warn('finished a restore that had been interrupted')
    const storage = openStorage({
      data: config.data,
      bytes: config.reserveBytes,
      random,
      log: app.log,
      stopping: stopping.signal,
    })
    store = await openStore(config, {
      databaseClock,
      clock,
      monotonicMs: processMs,
      elapsedMs,
      random,
      onFatal(error) {
        app.log.fatal({ err: error }, 'the database failed; the process exits')
        stopping.abort()
        setImmediate(() => end.resolve(1))
      },
      onCommit: commits.notify,
      onGroup: meters?.group,
      onFull: config.databaseUrl === undefined ? storage.noteFull : storage.noteDatabaseFull,
      isStorageFull: () => storage.state === 'full',
      onEffectError: (error) => app.log.error({ err: error }, 'a step that runs after a commit failed'),
      self: {
        name: config.nodeName,
        version,
        load: () => (serving === undefined ? { percent: 0, waits: 0 } : loadOf(serving)),
        ...(chance.program !== undefined && { program: chance.program }),
        settings: { portalOrigin: config.portalOrigin, packages: packageStoreOf(config) },
      },
      onBeatError: (error) => app.log.error({ err: error }, 'the database does not answer'),
      onWitnessError: (error) =>
        app.log.warn({ err: error }, 'failed to write the witness; the node tries again'),
      onOutdated(error) {
        app.log.fatal({ err: error }, 'a newer program has migrated the database; this node drains and stops')
        outdated.resolve()
      },
      onForgotten: (error) =>
        app.log.fatal({ err: error }, 'the node serves nothing: stop it, then run bridge server restored'),
      onAccepted: (text) => app.log.warn(text),
      onFailover: (floor) =>
        app.log.warn(
          { until: new Date(floor * 1000).toISOString() },
          'the database failed over without a synchronous standby: requests signed until then are refused',
        ),
    })
    bus = createBus(store, monotonicMs, app.log)
    await requireNoneElsewhere(config, store)
    packages = await openPackages(config, {
      ...{ monotonicMs, processMs, random, store, pace: chance.packagePace },
      onFailure: (error, transfer) =>
        app.log.error({ err: error, ...(transfer && { transfer }) }, 'the object store failed'),
    })
    const context = createContext({
      config,
      clock,
      monotonicMs,
      random,
      passwordCost: chance.passwordCost,
      clientFolder: chance.clientFolder,
      log: app.log,
      store,
      commits,
      bus,
      storage,
      packages,
      meters,
      portalOrigin: originOf(app, config),
      ownsDataFolder: lock.isInPlace,
      stopping: stopping.signal,
    })
    serving = context
    if (!isEnvelopeKey(config.envelopeKeyFile)) {
      app.log.error(
        { file: config.envelopeKeyFile },
        'the envelope key is missing or is not 32 bytes of base64',
      )
    }
    bus.start()
    await useRoutes(app, context)
    useSocket(app, context)
    scrapes = config.metrics && meters && (await listenForScrapes(config.metrics, meters))
    await app.listen({ host: bound(config), port: config.port })
    meters?.watch(observe(context, store))
    return await running({
      config,
      app,
      context,
      store,
      scrapes,
      lock,
      end,
      stopping,
      outdated: outdated.promise,
    })
  } catch (error) {
    await scrapes?.close()
    await app.close()
    await bus.close()
    await packages?.close()
    await store?.close()
    lock.release()
    throw error
  }
}

/** A node on SQLite is alone. */
const createBus = ({ channel }: NodeDatabase, monotonicMs: () => number, log: FastifyInstance['log']): Bus =>
  channel === undefined ? noBus : new NodeBus({ channel, monotonicMs, log })

/** On PostgreSQL the time of the database is the time of the node. A test hands in its own. */
function createStoreClocks(
  { databaseUrl }: Config,
  chance: ServerChance,
): Clocks & { readonly databaseClock?: DatabaseClock } {
  if (databaseUrl === undefined) return createClocks(chance)
  const { processMs, clock } = createClocks(chance)
  const databaseClock = createDatabaseClock(processMs, clock)
  return { ...createClocks({ clock: databaseClock.now, ...chance }), databaseClock }
}

/** Loads the metrics library only if metrics are on. */
const loadMeters = async (): Promise<WatchingMeters> => (await import('./metrics/registry.ts')).createMeters()

/**
 * The configured origin, else the listening address. The address is known once the server listens and is
 * remembered when it no longer listens.
 */
function originOf(app: FastifyInstance, config: Config): () => string {
  let origin = config.portalOrigin
  const read = () => {
    origin ||= addressOf(app, config).url
    return origin
  }
  app.addHook('onListen', async () => {
    read()
  })
  return read
}

function addressOf(app: FastifyInstance, config: Config) {
  const { port } = app.server.address() as AddressInfo
  const scheme = config.tls === undefined ? 'http' : 'https'
  return { url: urlOf(scheme, localHost(config.host), port), port }
}

/**
 * `localhost` can resolve to two addresses (IPv4 and IPv6), for which Fastify opens two servers. A renewed
 * certificate would reach only one of them, so with TLS the server listens on 127.0.0.1.
 */
const bound = ({ host, tls }: Config): string =>
  tls !== undefined && host === 'localhost' ? '127.0.0.1' : host

interface Running {
  readonly config: Config
  readonly app: FastifyInstance
  readonly context: Context
  readonly store: NodeDatabase
  readonly scrapes: ScrapeListener | undefined
  readonly lock: { release(): void }
  readonly end: PromiseWithResolvers<number>
  readonly stopping: AbortController
  /** Resolves if the database requires a newer program. */
  readonly outdated: Promise<void>
}

async function running({
  config,
  app,
  context,
  store,
  scrapes,
  lock,
  end,
  stopping,
  outdated,
}: Running): Promise<RunningServer> {
  const { url, port } = addressOf(app, config)
  const { host, portalOrigin, tls, trustedProxies, envelopeKeyFile, reserveBytes, nodeName } = config
  const packages = config.packagesPlace?.settings
  const runsWith = {
    ...{ host, portalOrigin, tls, trustedProxies, envelopeKeyFile, reserveBytes, nodeName },
    ...(packages && { packages }),
  }
  const address: Address = { url, pid: process.pid, ...(tls && { cert: tls.cert }), runsWith }
  writeFileSync(addressPath(config.data), `${JSON.stringify(address)}\n`, { mode: 0o600 })
  const renewal = config.tls && renewing(app, context, config.tls)
  const stopTimers = [
    store.changes === undefined ? startRecheck(context) : startSharedRecheck(context, store.changes),
    startAccessRecheck(context),
    startSharing(context),
    startNoncePurge(context, store.nonces),
    startRemovals(context),
    startTransferUpkeep(context),
    startMaintenance(context, jobsOf(store.nonces)),
    startClaimReconciling(context),
    context.storage.watch(store.writer.unusedBytes),
  ]
  const setupLink = await offerSetup(context)

  let stopped: Promise<void> | undefined
  const stop = (code = 0) => (stopped ??= shutDown(code))
  outdated
    .then(() => stop(outdatedCode))
    .catch((error: unknown) => {
      app.log.fatal({ err: error }, 'the node did not stop cleanly')
      end.resolve(1)
    })
  const shutDown = async (code: number) => {
    stopping.abort()
    for (const stopTimer of stopTimers) stopTimer()
    renewal?.stop()
    context.streams.stop()
    const steppingDown = store.nodes.stepDown()
    try {
      rmSync(addressPath(config.data), { force: true })
    } finally {
      // Otherwise the process would live on without a server.
      await closeAll(steppingDown, code)
    }
  }
  const closeAll = async (steppingDown: Promise<void>, code: number) => {
    const cut = setTimeout(() => app.server.closeAllConnections(), graceMs)
    await app.close()
    clearTimeout(cut)
    await scrapes?.close()
    await context.packages.close()
    await context.sharing?.stop()
    await context.bus.close()
    await steppingDown
    await store.close()
    lock.release()
    end.resolve(code)
  }
  return {
    url,
    host: config.host,
    port,
    serverId: context.serverId,
    setupLink,
    metricsUrl: scrapes?.url,
    finished: end.promise,
    reloadCertificate: () => renewal?.reload(),
    stop: () => stop(),
  }
}

/** Tells the other nodes once per second who used much of a rate. */
function startSharing({ bus, throttle }: Context): () => void {
  if (bus.mode === 'none') return () => {}
  const timer = setInterval(() => throttle.share(), 1000).unref()
  return () => clearInterval(timer)
}

function renewing(app: FastifyInstance, { log, clock }: Context, files: TlsFiles): Renewal {
  warnOfExpiry(readCertificate(files).expires, clock(), log)
  return watchCertificate({ files, server: app.server as unknown as Server, log, clock })
}

/**
 * "First start prints a one-time setup link." Contract §10. If an earlier link is still valid, no new one is
 * made.
 */
async function offerSetup(context: Context): Promise<string | undefined> {
  if (await context.read((db) => hasOpenSetup(db, context.steady.now()))) return undefined
  const token = await makeFirstToken(context)
  return token === undefined ? undefined : linkUrl(context.portalOrigin(), 'setup', token)
}
