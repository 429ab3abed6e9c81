/**
 * What an agent's request carries, and which refusals its client mends by itself, each once a call:
 *
 * - `clock_skew`: take the node's time, sign again.
 * - `session_closed`, `session_unknown`: start or resume a session, sign again.
 *
 * Nothing else: a fenced session and a revoked credential stand. Contract §2.
 */

import { sha256Hex } from '../signing/canonical.ts'
import type { BridgeError, RefusalCode } from '../transport/failures.ts'
import type { Authority, CallOptions, PreparedRequest } from '../transport/http.ts'
import type { Identity } from './identity.ts'
import type { SessionKeeper } from './session.ts'

export interface AgentAuthorityOptions {
  readonly identity: Identity
  readonly keeper: SessionKeeper
  readonly clock: () => Date
  readonly random: (bytes: number) => Buffer
}

/** Also for bytes that are only known by their hash. */
export interface AgentAuthority extends Authority {
  sign(request: Signable, bodySha256: string): Record<string, string>
}

type Signable = Pick<PreparedRequest, 'method' | 'target' | 'caller' | 'idempotencyKey'>

export function agentAuthority({ identity, keeper, clock, random }: AgentAuthorityOptions): AgentAuthority {
  const sign = (request: Signable, bodySha256: string): Record<string, string> =>
    identity.headers({
      method: request.method,
      target: request.target,
      bodySha256,
      time: String(Math.floor((clock().getTime() + keeper.clockOffsetMs) / 1000)),
      nonce: random(16).toString('base64url'),
      session: request.caller === 'agent' ? keeper.sessionId : undefined,
      idempotencyKey: request.idempotencyKey,
    })
  const headers = (request: PreparedRequest, body: Uint8Array) => sign(request, sha256Hex(body))

  const correctClock = async (refusal: BridgeError): Promise<boolean> => {
    const { server_time: told } = refusal.details
    const serverTime = typeof told === 'string' ? Date.parse(told) : Number.NaN
    if (Number.isNaN(serverTime)) return false
    await keeper.correctClock(serverTime - clock().getTime())
    return true
  }

  const mend = async (
    refusal: BridgeError,
    request: PreparedRequest,
    mended: Set<string>,
    options: CallOptions,
  ): Promise<boolean> => {
    const remedy = remedies.get(refusal.code)
    if (remedy === undefined || mended.has(remedy)) return false
    mended.add(remedy)
    if (remedy === 'clock') return correctClock(refusal)
    // To start a session only to close it helps nobody.
    if (request.endpoint === 'sessions.close') return false
    return keeper.replace(keeper.sessionId, refusal, options)
  }
  return { headers, sign, mend }
}

const remedies: ReadonlyMap<RefusalCode, 'clock' | 'session'> = new Map([
  ['clock_skew', 'clock'],
  ['session_closed', 'session'],
  ['session_unknown', 'session'],
])
