/**
 * Authorization headers of an agent's request, and the remedies for refusals. Each remedy is tried once per
 * call:
 *
 * - `clock_skew`: take the node's time and sign again.
 * - `session_closed`, `session_unknown`: start or resume a session and sign again.
 *
 * All other refusals, such as a fenced session or a revoked credential, go to the caller. Contract §2.
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

/** Authority that can also sign a body of which only the hash is known. */
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
    const { server_time: stated } = refusal.details
    const serverTime = typeof stated === 'string' ? Date.parse(stated) : Number.NaN
    if (Number.isNaN(serverTime)) return false
    await keeper.correctClock(serverTime - clock().getTime())
    return true
  }

  const recover = async (
    refusal: BridgeError,
    request: PreparedRequest,
    tried: Set<string>,
    options: CallOptions,
  ): Promise<boolean> => {
    const remedy = remedies.get(refusal.code)
    if (remedy === undefined || tried.has(remedy)) return false
    tried.add(remedy)
    if (remedy === 'clock') return correctClock(refusal)
    // A session that is gone needs no close, so do not start one for it.
    if (request.endpoint === 'sessions.close') return false
    return keeper.replace(keeper.sessionId, refusal, options)
  }
  return { headers, sign, recover }
}

const remedies: ReadonlyMap<RefusalCode, 'clock' | 'session'> = new Map([
  ['clock_skew', 'clock'],
  ['session_closed', 'session'],
  ['session_unknown', 'session'],
])
