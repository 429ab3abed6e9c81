/** The services of the server that proving and admitting a caller needs. `Context` has them all. */
import type { Reader } from '../database/reader.ts'
import type { SteadyClock } from '../database/steady-clock.ts'
import type { Writer } from '../database/writer.ts'
import type { Presence } from '../delivery/presence.ts'
import type { Identities } from './identities.ts'
import type { Throttle } from './throttle.ts'

export interface IdentityServices {
  readonly serverId: string
  readonly clock: () => Date
  readonly steady: SteadyClock
  readonly read: Reader['read']
  readonly write: Writer['write']
  /** Unix seconds. Proofs dated at or before it are refused. */
  readonly replayFloor: () => number
  readonly portalOrigin: () => string
  readonly identities: Identities
  readonly throttle: Throttle
  readonly presence: Pick<Presence, 'touch' | 'saved' | 'touchPerson'>
}
