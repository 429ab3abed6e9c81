/**
 * Consequence of a failure for a listener.
 *
 * - `final`: only a person can fix it. The listener throws, for example for a fenced session or a revoked
 *   credential.
 * - `node`: the node is unreachable, full, or asks to retry later. The listener uses the same transport after
 *   a pause.
 * - `suspect`: the connection broke for an unknown reason, or a socket's first frame may have come too late.
 *   After two in a row the listener changes the transport.
 * - `barred`: a proxy blocks this transport, or the node does not offer it. The listener changes the
 *   transport immediately.
 *
 * Contract §2.
 */
import { BridgeError, LocalError } from '../transport/failures.ts'
import { isTemporary, neverConnected } from '../transport/temporary.ts'
import type { ListenTransport } from './transport-choice.ts'

export type Verdict = 'final' | 'node' | 'suspect' | 'barred'

export function judge(failure: unknown, transport: ListenTransport, wasOpen: boolean): Verdict {
  if (failure instanceof BridgeError) return judgeRefusal(failure, transport, wasOpen)
  if (!(failure instanceof LocalError) || !isTemporary(failure, 'reading')) return 'final'
  if (transport === 'long-poll' || sameForAll.has(failure.code)) return 'node'
  if (wasOpen) return 'suspect'
  if (neverConnected(failure)) return 'node'
  return failure.code === 'bad_response' || failure.code === 'redirected' ? 'barred' : 'suspect'
}

function judgeRefusal(refusal: BridgeError, transport: ListenTransport, wasOpen: boolean): Verdict {
  const { code } = refusal
  if (isTemporary(refusal, 'reading')) return 'node'
  if (transport === 'long-poll') return 'final'
  // The first frame may have been too late. The next transport has no such limit, so a real fault is final
  // there.
  if (transport === 'socket' && !wasOpen && code === 'unauthenticated') return 'suspect'
  // The next connection gets the same refusal, and remedies it if it can.
  if (wasOpen && (code === 'session_closed' || code === 'session_unknown')) return 'node'
  return streamsOnly.has(code) ? 'barred' : 'final'
}

const sameForAll: ReadonlySet<LocalError['code']> = new Set(['certificate_refused'])

/**
 * Refusals of a node that does not offer this stream, or with a code of a newer node, whose status a stream
 * does not carry.
 */
const streamsOnly: ReadonlySet<BridgeError['code']> = new Set([
  'not_found',
  'method_not_allowed',
  'origin_mismatch',
  'unrecognized',
])
