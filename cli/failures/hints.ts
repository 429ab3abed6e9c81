/** At most one next step for each error, where there is one worth taking. Contract §12. */
import type { BridgeError, LocalError, LocalErrorCode, RefusalCode } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'

export function hintOf(
  error: BridgeError | LocalError,
  context: Pick<CliContext, 'keptIds' | 'address'>,
): string | undefined {
  const isRefusal = error.name === 'BridgeError'
  const refused = isRefusal ? refusals[error.code as RefusalCode] : undefined
  const kept = context.keptIds.at(-1)
  if (kept !== undefined) {
    const addressed = addressHint(error, context.address) ?? refused
    return addressed === undefined
      ? `kept in the outbox as ${kept}; it goes out with the next command, or by bridge outbox flush`
      : `${addressed}; until then the outbox keeps ${kept}`
  }
  const hint = addressHint(error, context.address) ?? refused
  return hint ?? (isRefusal ? lookedUp(error as BridgeError) : localHint(error as LocalError))
}

const lookedUp = ({ code, requestId }: BridgeError): string | undefined =>
  code === 'internal' ? `request ${requestId} finds it in the node's log` : undefined

/** What may be wrong with the address itself, as far as the failure tells. */
export function addressHint(
  { code, cause }: BridgeError | LocalError,
  address: string | undefined,
): string | undefined {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return undefined
  if ((code === 'bad_response' || code === 'not_found') && url.pathname !== '/') {
    return `the address has the path ${url.pathname}; most nodes are at ${url.origin}`
  }
  const reason = String((cause as NodeJS.ErrnoException | undefined)?.code ?? '')
  if (code === 'bad_response' && url.protocol === 'https:') {
    return `does this port speak plain http? its address would be http://${url.host}`
  }
  const mayBeTls = reason === 'ECONNRESET' || reason.startsWith('HPE_')
  if (mayBeTls && url.protocol === 'http:')
    return `is this port one for TLS? its address would be https://${url.host}`
  return undefined
}

const localHint = ({ code, message }: LocalError): string | undefined =>
  code === 'certificate_refused' ? certificateHint(message) : locals[code]

/** What helps depends on what was refused; the message ends with its name. */
function certificateHint(message: string): string {
  const reason = /\(([A-Z_]+)\)$/.exec(message)?.[1] ?? ''
  if (/EXPIRED|NOT_YET/.test(reason))
    return "is this machine's clock right? if it is, the node's operator has to renew the certificate"
  if (reason.includes('ALTNAME'))
    return 'use the name that the certificate was issued for in the address of the node'
  return 'NODE_EXTRA_CA_CERTS names a file with the certificate authority to trust'
}

const ownerDecides = 'stop here; only the owner can change this'

const refusals: Partial<Record<RefusalCode, string>> = {
  credential_revoked: 'stop here; the owner can enrol this agent again',
  credential_expired: 'the owner can enrol this agent again',
  credential_unknown: 'is this the node that the agent was enrolled at? bridge whoami shows it',
  agent_disabled: ownerDecides,
  project_archived: ownerDecides,
  clock_skew: "set this machine's clock; the correction from the node's time did not help",
  session_active: 'bridge session close, where that instance runs, ends it; else only the owner can',
  session_fenced:
    "another instance took over: another machine, or a script that does not use this profile's session; stop here and do not register again",
  session_closed: 'bridge session start begins a new session',
  takeover_pending: 'a session starts only with the grant: bridge session start --takeover-grant-stdin',
  grant_invalid: 'ask the owner for a new grant, which voids the last: bridge admin takeover',
  not_found: 'bridge peers, conversations and inbox list what this agent may see',
  idempotency_conflict: 'the key was used for something else; leave --key out to get a fresh one',
  project_paused: 'the owner paused the project; reading and acknowledging still work',
  claim_held: 'another session of this agent holds it; wait until its claim is over, or take another task',
  claim_lost: 'stop the work: the claim is over. bridge task show tells what became of the task',
  pairing_disabled: 'only the owner can let the two talk again',
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
  sandbox_blocked: 'allow this program to open network connections, then run bridge outbox flush',
  insecure_url: 'use https, or --allow-plain-http when the network between is yours',
  invalid_url: 'an address is scheme, host and port: http://127.0.0.1:8484, https://bridge.example',
  identity_missing: 'bridge enroll --url URL makes one, with a code of the owner; --profile names another',
  entry_of_another: 'leave it to the profile with that identity, or give it up: bridge outbox drop',
  peer_unknown: 'bridge peers lists the peers',
  capability_off: 'try again later, or the other way: --direct needs no store, and an upload no helper',
  key_missing:
    'bridge key show tells the key of this profile; the sender can send anew to the one that is registered',
  destination_exists: 'move it away, or choose another name; --overwrite replaces it',
}
