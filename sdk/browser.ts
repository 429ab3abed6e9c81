/**
 * Public API of `agent-bridge/browser`: the owner's half of the SDK for a page that the node serves.
 *
 * - The browser keeps the cookie and sets the Origin. Script sees neither.
 * - No file of it imports a `node:` module.
 *
 * Contract §13 "`agent-bridge/browser` is the owner's half for a page".
 */
import { type Health, health, type Readiness } from './contract/health.ts'
import { type OwnerSession, signIn } from './contract/owner/sign-in.ts'
import { OwnerResources } from './owner/owner-resources.ts'
import type { Call } from './resources/call.ts'
import type { BridgeError } from './transport/failures.ts'
import type { Fetch, FetchResponse } from './transport/fetch.ts'
import { type CallOptions, Transport } from './transport/http.ts'

export type { Conversation, MessagePage } from './contract/agent/conversations.ts'
export type { Message } from './contract/agent/messages.ts'
export type { RecipientKey } from './contract/agent/peers.ts'
export type { Evidence, Task, TaskEntry } from './contract/agent/tasks.ts'
export type { Transfer, TransferSummary } from './contract/agent/transfers.ts'
export type { ErrorCode } from './contract/errors.ts'
export type { Health, Readiness } from './contract/health.ts'
export { type AttentionKind, attentionLabels, connectionLabels } from './contract/labels.ts'
export { limits } from './contract/limits.ts'
export type { Administrator, AdministratorLink } from './contract/owner/administrators.ts'
export type { Agent, AgentInstructionPreview } from './contract/owner/agents.ts'
export type { AuditRecord } from './contract/owner/audit.ts'
export type { Credential } from './contract/owner/credentials.ts'
export type { Enrollment, EnrollmentInput, EnrollmentIssued } from './contract/owner/enrollments.ts'
export type { Environment } from './contract/owner/environments.ts'
export type { OwnerInboxMessage } from './contract/owner/messages.ts'
export type { PairingResult } from './contract/owner/pairings.ts'
export type { Project, ProjectPolicy, ProjectState } from './contract/owner/projects.ts'
export type { OwnerSession } from './contract/owner/sign-in.ts'
export type { AttentionItem, ProjectSnapshot, SnapshotAgent } from './contract/owner/snapshot.ts'
export type { Connection } from './contract/presence.ts'
export type {
  EndedNode,
  HostHistory,
  HostSample,
  HostSampleList,
  NodeInfo,
  NodeStorage,
} from './contract/telemetry.ts'
export { neutralize, oneLine, plainJson, type VisiblePiece, visiblePieces } from './plain-text.ts'
export { BridgeError, isOutcomeUnknown, LocalError } from './transport/failures.ts'

/** Options of {@link openOwner}. All have defaults. */
export interface BrowserOptions {
  /** Origin of the node. The origin of the page by default, which is the only one that the node accepts. */
  readonly origin?: string | undefined
  readonly fetch?: Fetch | undefined
  /**
   * Signs in again, or confirms the password, after `owner_session_expired` or `reauth_required`. Both refusals
   * precede any effect. If the result is true, the refused request is sent once more. A call that is aborted
   * meanwhile does not wait for the result.
   */
  readonly reauthorize?:
    | ((refusal: BridgeError, request: { readonly method: string }) => Promise<boolean>)
    | undefined
  /** Called with every response, before its body is read. */
  readonly answered?: ((response: Pick<FetchResponse, 'status' | 'headers'>) => void) | undefined
}

/** An owner's session in a browser. Every call takes ids. */
export class BrowserOwner extends OwnerResources {
  readonly #call: Call

  constructor(call: Call) {
    super(call)
    this.#call = call
  }

  /** Reads health and identity of the node, without a session. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#call(health.get, {}, options)
  }

  /** Reads whether requests may be sent to the node, without a session. A node that is not ready is no error. */
  readiness(options: CallOptions = {}): Promise<Readiness> {
    return this.#call(health.ready, {}, options)
  }

  /**
   * Creates the owner of a new node with the token of its set-up link, and signs in.
   *
   * @throws sign_in_failed, setup_done, invalid_request
   */
  setUp(
    input: { readonly token: string; readonly name: string; readonly password: string },
    options: CallOptions = {},
  ): Promise<OwnerSession> {
    return this.#call(signIn.setup, { body: input }, options)
  }

  /** Signs in with a name and password, or with the token of a one-time link. @throws sign_in_failed, rate_limited */
  start(
    input: { readonly name: string; readonly password: string } | { readonly link_token: string },
    options: CallOptions = {},
  ): Promise<OwnerSession> {
    return this.#call(signIn.start, { body: input }, options)
  }
}

/** Returns the owner's session of this browser. Sends no request. */
export function openOwner({ origin, fetch, reauthorize, answered }: BrowserOptions = {}): BrowserOwner {
  const transport = new Transport({
    address: { origin: origin ?? pageOrigin(), prefix: '' },
    authority: {
      headers: () => ({}),
      recover: async (refusal, { method }, tried, { signal }) => {
        const { code } = refusal
        if (code !== 'owner_session_expired' && code !== 'reauth_required') return false
        if (reauthorize === undefined || tried.has(code)) return false
        tried.add(code)
        return unlessAborted(reauthorize(refusal, { method }), signal)
      },
      ...(answered && { answered }),
    },
    fetch: fetch ?? uncached,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
  })
  return new BrowserOwner((entry, input, options) => transport.call(entry, input, options))
}

/** Resolves with the answer, or with false as soon as the signal aborts. */
async function unlessAborted(answer: Promise<boolean>, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal === undefined) return answer
  const settled = new AbortController()
  const aborted = new Promise<false>((resolve) => {
    if (signal.aborted) resolve(false)
    signal.addEventListener('abort', () => resolve(false), { once: true, signal: settled.signal })
  })
  try {
    return await Promise.race([answer, aborted])
  } finally {
    settled.abort()
  }
}

/** The HTTP cache of a browser would send equal GETs of several tabs one after the other. */
const uncached: Fetch = (url, init) =>
  globalThis.fetch(url, { ...init, cache: 'no-store', credentials: 'same-origin' })

const pageOrigin = (): string => (globalThis as unknown as { location: { origin: string } }).location.origin
