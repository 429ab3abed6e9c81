/** Hints: at most one next step for each error. Contract §12. */
import type { BridgeError, LocalError, LocalErrorCode, RefusalCode } from '../../sdk/index.ts'
import type { CliContext } from '../context.ts'

export function hintOf(
  error: BridgeError | LocalError,
  context: Pick<CliContext, 'keptIds' | 'address' | 'current'>,
): string | undefined {
  const isRefusal = error.name === 'BridgeError'
  const refused = isRefusal ? refusalHint(error.code as RefusalCode, context.current.words) : undefined
  // A person has to act on these before the outbox can be sent.
  const certificate =
    error.code === 'certificate_refused' ? certificateHint(error.message, context.current.words) : undefined
  const toMend = addressHint(error, context.address) ?? refused ?? certificate
  const kept = context.keptIds.at(-1)
  if (kept !== undefined) {
    return toMend === undefined
      ? `kept in the outbox as ${kept}; the next command sends it, or bridge outbox flush`
      : `${toMend}; until then the outbox keeps ${kept}`
  }
  return toMend ?? (isRefusal ? lookedUp(error as BridgeError) : locals[error.code as LocalErrorCode])
}

function refusalHint(code: RefusalCode, words: string): string | undefined {
  // `doctor` asks with the credential only at the node that the agent was enrolled at.
  if (code === 'credential_unknown' && words === 'doctor') return refusals.credential_expired
  return refusals[code]
}

const lookedUp = ({ code, requestId }: BridgeError): string | undefined =>
  code === 'internal' ? `the node's log has the cause under request ${requestId}` : undefined

/** Hint about the address itself, if the failure points to it. */
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

/** Hint by the reason of the refusal, which stands in parentheses at the end of the message. */
function certificateHint(message: string, words: string): string {
  const reason = /\(([A-Z_]+)\)$/.exec(message)?.[1] ?? ''
  if (/EXPIRED|NOT_YET/.test(reason))
    return "is this machine's clock right? if it is, the node's operator has to renew the certificate"
  if (reason.includes('ALTNAME'))
    return 'use the name that the certificate was issued for in the address of the node'
  return `NODE_EXTRA_CA_CERTS names a file with the certificate authority to trust; ${keeperOf(words)}`
}

/** The command that keeps an authority, so that later ones trust it. */
function keeperOf(words: string): string {
  if (words === 'admin setup') return 'bridge admin setup --ca keeps one'
  if (/^admin\b/.test(words)) return 'bridge admin login --ca keeps one'
  return words === 'enroll'
    ? 'bridge enroll --ca keeps one'
    : 'bridge enroll --ca, with a new code from the owner, keeps one'
}

const ownerDecides = 'stop here; only the owner can change this'

const refusals: Partial<Record<RefusalCode, string>> = {
  credential_revoked: 'stop here; the owner can enrol this agent again',
  credential_expired: 'the owner can enrol this agent again',
  credential_unknown: 'is this the node that the agent was enrolled at? bridge doctor shows it',
  agent_disabled: ownerDecides,
  project_archived: ownerDecides,
  clock_skew: "set this machine's clock; correcting by the node's time did not help",
  session_active:
    'bridge session close ends it where that instance runs; elsewhere only the owner can end it',
  session_fenced:
    "another instance took over: another machine, or a script that does not use this profile's session; stop here and do not register again",
  session_closed: 'bridge session start begins a new session',
  takeover_pending: 'start with the grant of the takeover: bridge session start --takeover-grant-stdin',
  grant_invalid: 'ask the owner for a new grant, which replaces the last one: bridge admin takeover',
  not_found: 'bridge peers, conversations and inbox list what this agent may see',
  idempotency_conflict: 'the key was used for another request; omit --key to get a new one',
  project_paused: 'the owner paused the project; reading and acknowledging still work',
  claim_held: 'another session of this agent holds it; wait until its claim ends, or take another task',
  claim_lost: 'stop the work, because the claim has ended; bridge task show shows the state of the task',
  pairing_disabled: 'only the owner can let the two talk again',
  enrollment_used: 'the code was used with another key; the owner was notified and can issue a new one',
  enrollment_expired: 'ask the owner for a new enrolment prompt',
  enrollment_revoked: 'ask the owner for the newest enrolment prompt',
  rate_limited: 'slow down',
  conversation_budget: 'the loop guard stopped this conversation; stop, and do not send it in other words',
}

const locals: Partial<Record<LocalErrorCode, string>> = {
  unreachable:
    'is the node running, and is this its address? bridge up or bridge server start, on its machine, starts it',
  bad_response: 'is this the address of a bridge node? check its /api/health',
  redirected: 'use the address that it redirects to, if that is the node',
  sandbox_blocked: 'allow this program to open network connections, then run bridge outbox flush',
  insecure_url: 'use https, or --allow-plain-http if you trust the network in between',
  invalid_url: 'an address is scheme, host and port: http://127.0.0.1:8484, https://bridge.example',
  identity_missing:
    'bridge enroll --url URL creates one, with a code from the owner; --profile chooses another',
  entry_of_another: 'leave it to the profile with that identity, or discard it: bridge outbox drop',
  peer_unknown: 'bridge peers lists the peers',
  capability_off:
    'try again later, or in the other mode: --direct needs no storage on the node, an upload needs no helper',
  key_missing:
    'bridge key show prints the key of this profile; the sender can send again to the registered key',
  destination_exists: 'move it away, or choose another name; --overwrite replaces it',
}
