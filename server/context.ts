/** What an action may reach. Built once by `app.ts`; time and randomness come from here and from nowhere else. */
import type { FastifyBaseLogger } from 'fastify'
import type { HostSampleInput } from '../sdk/contract/telemetry.ts'
import type { Config } from './config.ts'
import type { CommitListeners } from './database/commit-listeners.ts'
import type { Reader } from './database/reader.ts'
import type { SteadyClock } from './database/steady-clock.ts'
import type { Writer } from './database/writer.ts'
import type { Presence } from './delivery/presence.ts'
import type { Receipts } from './delivery/receipts.ts'
import type { Streams } from './delivery/streams.ts'
import type { Wakeups } from './delivery/wakeups.ts'
import type { Storage } from './host/storage/storage.ts'
import type { ClientAddress } from './http/client-address.ts'
import type { Identities } from './identity/identities.ts'
import type { Throttle } from './identity/throttle.ts'
import type { Offers } from './inbox/in-flight.ts'
import type { OfferLog } from './inbox/offer-log.ts'
import type { Offer } from './inbox/store.ts'
import type { Meters } from './metrics/meters.ts'
import type { SignInDelays } from './owners/delays.ts'
import type { OwnerWaits } from './owners/open-waits.ts'
import type { Passwords } from './owners/password.ts'
import type { Packages } from './transfers/packages/store.ts'

export interface Context {
  readonly serverId: string
  readonly config: Config
  /** What owner requests must carry as Origin; known once the port is. */
  readonly portalOrigin: () => string
  /** Of the client, behind the proxies that are listed. */
  readonly clientAddress: ClientAddress
  readonly clock: () => Date
  /** For durations: never steps. */
  readonly monotonicMs: () => number
  /** Aborted when the server begins to stop: waits end. */
  readonly stopping: AbortSignal
  /** Unpredictable bytes: tokens, codes, request ids. */
  readonly random: (bytes: number) => Buffer
  /** The only way to change anything; see `database/transaction.ts`. */
  readonly write: Writer['write']
  /** For live views. */
  readonly commits: CommitListeners
  readonly storeState: Writer['state']
  /** Whether the disk has room, and what is done when it has not. */
  readonly storage: Storage
  readonly foldStore: Writer['fold']
  readonly scrubStore: Writer['scrub']
  /** Whether the file was written anew when it was opened. */
  readonly scrubbedAtStart: boolean
  /** A snapshot on its own read-only connection. */
  readonly read: Reader['read']
  /** Unix seconds: proofs dated at or before it are refused; see `database/nonces.ts`. */
  readonly replayFloor: () => number
  readonly log: FastifyBaseLogger
  readonly wakeups: Wakeups
  readonly receipts: Receipts
  readonly streams: Streams
  readonly presence: Presence
  /** The time that lifetimes and windows run by. */
  readonly steady: SteadyClock
  readonly offers: Offers
  readonly offerLog: OfferLog<Offer>
  readonly identities: Identities
  readonly throttle: Throttle
  readonly signInDelays: SignInDelays
  readonly passwords: Passwords
  readonly packages: Packages
  /** Packages that are being removed, by transfer. */
  readonly packageRemovals: Map<string, Promise<void>>
  readonly ownerWaits: OwnerWaits
  /** Undefined: nobody scrapes this node. */
  readonly meters: Meters | undefined
  /** The latest sample of this host's load. */
  readonly ownHost: () => HostSampleInput
}
