/** At most one next step for each error, where there is one worth taking. Contract §12. */
import type { BridgeError, LocalError, LocalErrorCode, RefusalCode } from '../sdk/index.ts'
import type { CliContext } from './context.ts'

export function hintOf(
  error: BridgeError | LocalError,
  context: Pick<CliContext, 'keptIds'>,
): string | undefined {
  const refused = error.name === 'BridgeError' ? refusals[error.code as RefusalCode] : undefined
  const kept = context.keptIds.at(-1)
  if (kept !== undefined) {
    return refused === undefined
      ? `kept in the outbox as ${kept}; it goes out with the next command, or by bridge outbox flush`
      : `${refused}; until then the outbox keeps ${kept}`
  }
  const hint = refused ?? (error.name === 'BridgeError' ? undefined : locals[error.code as LocalErrorCode])
  if (hint !== undefined) return hint
  return error.name === 'BridgeError' && error.code === 'internal'
    ? `request ${(error as BridgeError).requestId} finds it in the node's log`
    : undefined
}

const ownerDecides = 'stop here; only the owner can change this'

const refusals: Partial<Record<RefusalCode, string>> = {
  credential_revoked: 'stop here; the owner can enrol this agent again',
  credential_expired: 'the owner can enrol this agent again',
  credential_unknown: 'is this the node that the agent was enrolled at? bridge whoami shows it',
  agent_disabled: ownerDecides,
  project_archived: ownerDecides,
  clock_skew: "set this machine's clock; the correction from the node's time did not help",
  session_active: 'another instance of this agent is at work; stop, or ask the owner for a takeover',
  session_fenced: 'another instance took over; stop here and do not register again',
  session_closed: 'bridge session start begins a new session',
  takeover_pending: 'a session starts only with the grant: bridge session start --takeover-grant-stdin',
  not_found: 'bridge peers and bridge conversations list what this agent may see',
  idempotency_conflict: 'the key was used for something else; leave --key out to get a fresh one',
  project_paused: 'the owner paused the project; reading and acknowledging still work',
  pairing_disabled: 'the owner disabled this pair',
  enrollment_used: 'the code was used by another key; the owner has been told and can issue a new one',
  enrollment_expired: 'ask the owner for a new enrolment prompt',
  enrollment_revoked: 'ask the owner for the newest enrolment prompt',
  rate_limited: 'slow down',
  conversation_budget: 'the loop guard stopped this exchange; stop, do not rephrase',
}

const locals: Partial<Record<LocalErrorCode, string>> = {
  unreachable: 'is the node running, and is this its address?',
  bad_response: 'is this the address of a bridge node? its /api/health tells',
  redirected: 'use the address that it redirects to, if that is the node',
  certificate_refused: 'NODE_EXTRA_CA_CERTS names a file with the certificate authority to trust',
  sandbox_blocked: 'allow this program to open network connections, then run bridge outbox flush',
  insecure_url: 'use https, or --allow-plain-http when the network between is yours',
  identity_missing: 'bridge enroll --url URL makes one; --profile names another',
  entry_of_another: 'leave it to the profile with that identity, or give it up: bridge outbox drop',
  peer_unknown: 'bridge peers lists the peers',
  destination_exists: 'move it away, or choose another name',
}
