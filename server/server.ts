/**
 * One running server: store, context, HTTP, and the way it stops.
 *
 * Stopping: readiness turns false, waits end, requests in flight finish, the store is folded and closed. What is still
 * open after ten seconds is cut.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { uptime } from 'node:os'
import type { Server } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { createApp, useRoutes } from './app.ts'
import type { Config } from './config.ts'
import type { Context } from './context.ts'
import { type CommitListeners, createCommitListeners } from './database/commit-listeners.ts'
import { type NodeDatabase, openNodeDatabase } from './database/database.ts'
import { lockDataFolder } from './database/lock.ts'
import { createPresence } from './delivery/presence.ts'
import { createReceipts } from './delivery/receipts.ts'
import { startAccessRecheck, startRecheck } from './delivery/recheck.ts'
import { createStreams } from './delivery/streams.ts'
import { useSocket } from './delivery/upgrade.ts'
import { createWakeups } from './delivery/wakeups.ts'
import { createElapsed } from './elapsed.ts'
import { finishReplacement } from './host/backups/replacing.ts'
import { addressPath } from './host/data-folder.ts'
import { isEnvelopeKey } from './host/envelope/keys.ts'
import type { Address } from './host/init.ts'
import {
  type Renewal,
  readCertificate,
  warnOfExpiry,
  watchCertificate,
} from './host/listening/certificate.ts'
import { localHost, type TlsFiles, urlOf } from './host/listening/exposure.ts'
import { openStorage, type Storage } from './host/storage/storage.ts'
import { clientAddresses } from './http/client-address.ts'
import { answerHeadersFor } from './http/responses.ts'
import { createIdentities } from './identity/identities.ts'
import { createThrottle } from './identity/throttle.ts'
import { createOffers } from './inbox/in-flight.ts'
import { createOfferLog } from './inbox/offer-log.ts'
import { markOffered } from './inbox/store.ts'
import type { LogStream } from './log-stream.ts'
import { startClaimReconciling } from './maintenance/claims.ts'
import { startNoncePurge } from './maintenance/nonces.ts'
import { startMaintenance } from './maintenance/schedule.ts'
import { listenForScrapes, type ScrapeListener } from './metrics/listener.ts'
import { observe } from './metrics/observed.ts'
import type { WatchingMeters } from './metrics/registry.ts'
import { createSignInDelays } from './owners/delays.ts'
import { linkUrl, makeLinkToken } from './owners/links.ts'
import { createOwnerWaits } from './owners/open-waits.ts'
import { createPasswords, type Passwords } from './owners/password.ts'
import { hasOpenSetup } from './owners/store.ts'
import { startRemovals } from './projects/removal.ts'
import { watchOwnHost } from './telemetry/own-host.ts'
import { createPackages } from './transfers/packages/store.ts'
import { startTransferUpkeep } from './transfers/upkeep.ts'

export interface RunningServer {
  readonly url: string
  readonly host: string
  readonly port: number
  readonly serverId: string
  /** A fresh one-time link, when there is no owner and no earlier link is open. */
  readonly setupLink: string | undefined
  /** Where the metrics are read, when somebody asked for them. */
  readonly metricsUrl: string | undefined
  /** Resolves with the exit code: 0 after a clean stop, 1 when the store failed. */
  readonly finished: Promise<number>
  /** Reads certificate and key again; nothing without TLS. */
  reloadCertificate(): void
  stop(): Promise<void>
}

/** What a test hands in; the program uses the real ones. */
export interface ServerChance {
  readonly clock?: () => Date
  readonly random?: (bytes: number) => Buffer
  /** log2 of scrypt's N for new passwords; no setting of the program reaches it. */
  readonly passwordCost?: number
  /** How much time passed, by which lifetimes run; whatever the clock is set to. */
  readonly elapsedMs?: () => number
  /** The monotonic time of waits, streams and limits in memory. */
  readonly monotonicMs?: () => number
  /** In place of standard error. */
  readonly logTo?: LogStream
}

const graceMs = 10_000

export async function startServer(config: Config, chance: ServerChance = {}): Promise<RunningServer> {
  const clock = chance.clock ?? (() => new Date())
  const random = chance.random ?? randomBytes
  const monotonicMs = () => performance.now()
  const { logLevel, tls } = config
  const certificate = tls && readCertificate(tls)
  const lock = lockDataFolder(config.data)
  const answerHeaders = answerHeadersFor(config)
  const app = createApp({ logLevel, logTo: chance.logTo, random, answerHeaders, certificate })
  const end = Promise.withResolvers<number>()
  const stopping = new AbortController()
  const commits = createCommitListeners()
  let store: NodeDatabase | undefined
  let scrapes: ScrapeListener | undefined
  try {
    const meters = config.metrics && (await loadMeters())
    if (finishReplacement(config.data)) app.log.warn('a restore that was cut off was brought to its end')
    const storage = openStorage({
      data: config.data,
      bytes: config.reserveBytes,
      random,
      log: app.log,
      stopping: stopping.signal,
    })
    store = openNodeDatabase({
      data: config.data,
      clock,
      monotonicMs,
      elapsedMs: chance.elapsedMs ?? createElapsed({ clock, monotonicMs, uptimeMs: () => uptime() * 1000 }),
      random,
      onFatal(error) {
        app.log.fatal({ err: error }, 'the store failed; the process ends')
        stopping.abort()
        setImmediate(() => end.resolve(1))
      },
      onCommit: commits.notify,
      onGroup: meters?.group,
      onFull: storage.noteFull,
      isShort: () => storage.state === 'full',
      onEffectError: (error) => app.log.error({ err: error }, 'an effect after a commit failed'),
      serves: true,
    })
    const passwords = createPasswords(random, chance.passwordCost)
    const context = createContext({
      config,
      clock,
      monotonicMs: chance.monotonicMs ?? monotonicMs,
      random,
      passwords,
      app,
      store,
      commits,
      meters,
      storage,
      stopping: stopping.signal,
    })
    if (!isEnvelopeKey(config.envelopeKeyFile)) {
      app.log.error(
        { file: config.envelopeKeyFile },
        'the envelope key is missing or is not 32 bytes of base64',
      )
    }
    await useRoutes(app, context)
    useSocket(app, context)
    scrapes = config.metrics && meters && (await listenForScrapes(config.metrics, meters))
    await app.listen({ host: bound(config), port: config.port })
    meters?.watch(observe(context, store))
    return await running({ config, app, context, store, scrapes, lock, end, stopping })
  } catch (error) {
    await scrapes?.close()
    await app.close()
    await store?.close()
    lock.release()
    throw error
  }
}

/** Only now is the library loaded that they are kept with. */
const loadMeters = async (): Promise<WatchingMeters> => (await import('./metrics/registry.ts')).createMeters()

interface Parts {
  readonly config: Config
  readonly clock: () => Date
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Buffer
  readonly passwords: Passwords
  readonly app: FastifyInstance
  readonly store: NodeDatabase
  readonly commits: CommitListeners
  readonly meters: WatchingMeters | undefined
  readonly storage: Storage
  readonly stopping: AbortSignal
}

function createContext({
  config,
  clock,
  monotonicMs,
  random,
  passwords,
  app,
  store,
  commits,
  meters,
  storage,
  stopping,
}: Parts): Context {
  return {
    serverId: store.serverId,
    config,
    portalOrigin: originOf(app, config),
    clientAddress: clientAddresses(config),
    clock,
    monotonicMs,
    stopping,
    random,
    write: store.writer.write,
    commits,
    storeState: store.writer.state,
    storage,
    foldStore: store.writer.fold,
    scrubStore: store.writer.scrub,
    scrubbedAtStart: store.scrubbed,
    read: store.reader.read,
    replayFloor: store.nonces.floor,
    log: app.log,
    wakeups: createWakeups(),
    receipts: createReceipts(),
    streams: createStreams(monotonicMs),
    presence: createPresence(store.steady, config.maxWaits),
    steady: store.steady,
    offers: createOffers(),
    offerLog: createOfferLog(store.writer.write, markOffered),
    identities: createIdentities(store.reader.read),
    throttle: createThrottle(monotonicMs, config),
    signInDelays: createSignInDelays(monotonicMs),
    passwords,
    packages: createPackages({
      data: config.data,
      spareBytes: config.packageSpareBytes,
      elapsedMs: monotonicMs,
    }),
    packageRemovals: new Map(),
    ownerWaits: createOwnerWaits(),
    meters,
    ownHost: watchOwnHost(clock, stopping),
  }
}

/** The configured origin, else the address: known once the server listens, and kept when it no longer does. */
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

/** The name stands for two addresses, and so for two servers, of which a renewed certificate would reach one. */
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
}: Running): Promise<RunningServer> {
  const { url, port } = addressOf(app, config)
  const { host, portalOrigin, tls, trustedProxies, envelopeKeyFile, reserveBytes } = config
  const runsWith = { host, portalOrigin, tls, trustedProxies, envelopeKeyFile, reserveBytes }
  const address: Address = { url, pid: process.pid, ...(tls && { cert: tls.cert }), runsWith }
  writeFileSync(addressPath(config.data), `${JSON.stringify(address)}\n`, { mode: 0o600 })
  const renewal = config.tls && renewing(app, context, config.tls)
  const stopTimers = [
    startRecheck(context),
    startAccessRecheck(context),
    startNoncePurge(context, store.nonces),
    startRemovals(context),
    startTransferUpkeep(context),
    startMaintenance(context, store.nonces),
    startClaimReconciling(context),
    context.storage.watch(store.writer.unusedBytes),
  ]
  const setupLink = await offerSetup(context)

  let stopped: Promise<void> | undefined
  const shutDown = async () => {
    stopping.abort()
    for (const stopTimer of stopTimers) stopTimer()
    renewal?.stop()
    context.streams.stop()
    rmSync(addressPath(config.data), { force: true })
    const cut = setTimeout(() => app.server.closeAllConnections(), graceMs)
    await app.close()
    clearTimeout(cut)
    await scrapes?.close()
    await context.packages.close()
    await store.close()
    lock.release()
    end.resolve(0)
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
    stop: () => (stopped ??= shutDown()),
  }
}

function renewing(app: FastifyInstance, { log, clock }: Context, files: TlsFiles): Renewal {
  warnOfExpiry(readCertificate(files).expires, clock(), log)
  return watchCertificate({ files, server: app.server as unknown as Server, log, clock })
}

/** "First start prints a one-time setup link." Contract §10. A link that is still open is not taken away. */
async function offerSetup(context: Context): Promise<string | undefined> {
  if (await context.read((db) => hasOpenSetup(db, context.steady.now()))) return undefined
  return linkUrl(context.portalOrigin(), 'setup', await makeLinkToken(context, 'setup'))
}
