/**
 * What a failure means to who listens.
 *
 * - `final`: nothing mends it but a person. A fenced session and a revoked credential are never worked around.
 * - `node`: the node is away, full, or says later. The same transport again, after a pause.
 * - `suspect`: the transport broke; nothing says whose fault it is. Twice in a row, and another one is taken.
 * - `barred`: this transport does not get through, or the node has none of it. Another one is taken at once.
 *
 * Contract §2.
 */
import { BridgeError, LocalError } from '../transport/failures.ts'
import { isTemporary, neverConnected } from '../transport/temporary.ts'
import type { ListenTransport } from './choice.ts'

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
  // The next opening tells the same, and mends it where that may be done.
  if (wasOpen && (code === 'session_closed' || code === 'session_unknown')) return 'node'
  return streamsOnly.has(code) ? 'barred' : 'final'
}

const sameForAll: ReadonlySet<LocalError['code']> = new Set(['certificate_refused'])

/** A node without this endpoint, or a code of a newer node, whose status only a request tells. */
const streamsOnly: ReadonlySet<BridgeError['code']> = new Set([
  'not_found',
  'method_not_allowed',
  'origin_mismatch',
  'unrecognized',
])
