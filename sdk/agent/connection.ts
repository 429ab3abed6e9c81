/**
 * Connection of one agent to its node: its session, and requests that are signed and sent at once.
 *
 * `Bridge` adds the outbox, names, listening and files to it, and `AgentReader` adds two reads.
 */
import type { Client } from '../contract/agent/enrollments.ts'
import { type Address, parseBaseUrl } from '../transport/address.ts'
import type { Fetch } from '../transport/fetch.ts'
import { Transport } from '../transport/http.ts'
import { userAgentOf } from '../version.ts'
import { type AgentAuthority, agentAuthority } from './authority.ts'
import { DirectCalls } from './direct-calls.ts'
import type { Identity } from './identity.ts'
import { SessionKeeper, type SessionStore } from './session.ts'

/** Options of a Bridge that concern requests, with every default set. */
export interface ConnectionOptions {
  readonly baseUrl: string
  readonly allowPlainHttp?: boolean | undefined
  readonly ca?: string | undefined
  readonly identity: Identity
  readonly timeoutMs?: number | undefined
  readonly sleep?: ((ms: number, signal: AbortSignal | undefined) => Promise<void>) | undefined
  readonly sessions: SessionStore
  readonly client: Client
  readonly fetch: Fetch
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
}

export interface Connection {
  readonly address: Address
  readonly authority: AgentAuthority
  readonly keeper: SessionKeeper
  readonly transport: Transport
  readonly direct: DirectCalls
}

/** Sends no request. @throws LocalError `invalid_url`, `insecure_url` */
export function connectionOf(options: ConnectionOptions): Connection {
  const { identity, sessions: store, client, fetch, clock, random, timeoutMs, sleep } = options
  const needsChallenge = identity.record.binding === 'device'
  const keeper = new SessionKeeper({ store, transport: () => transport, client, needsChallenge })
  const address = { ...parseBaseUrl(options.baseUrl, options), ca: options.ca }
  const authority = agentAuthority({ identity, keeper, clock, random })
  const userAgent = userAgentOf(client)
  const transport = new Transport({ address, authority, fetch, random, userAgent, timeoutMs, sleep })
  return { address, authority, keeper, transport, direct: new DirectCalls({ transport, keeper, random }) }
}
