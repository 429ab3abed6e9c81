/**
 * A prepared request to an endpoint, and the function that sends it.
 *
 * Method and path come from the contract; a test overrides only the part that it tests.
 */
import type { EndpointSpec } from '../../../sdk/contract/endpoint.ts'
import type { TestAgent } from '../../support/agent.ts'
import { sha256 } from '../../support/files.ts'
import type { Reply } from '../../support/http.ts'
import { TestOwner } from '../../support/owner.ts'

export interface Ready {
  /** The sender; for an endpoint without identity, only the address. */
  readonly by: TestAgent | TestOwner | { readonly url: string }
  readonly params?: Readonly<Record<string, string>>
  /** Including its question mark. */
  readonly query?: string
  /** An object is sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  /** Idempotency-Key. If the endpoint takes one, it is fresh by default; `null` omits it. */
  readonly key?: string | null
  /** Replaces the method of the contract. */
  readonly method?: string
  readonly target?: string
  /** Replaces or removes (`null`) headers after signing. */
  readonly override?: Readonly<Record<string, string | null>>
  readonly extra?: readonly (readonly [string, string])[]
  /** The time of an agent's proof. */
  readonly time?: number
  readonly nonce?: string
  readonly session?: string | null
}

export const targetOf = (entry: EndpointSpec, { target, params = {}, query = '' }: Ready): string =>
  target ?? entry.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => params[name] ?? '') + query

/** A client that sends bytes states the hash that it signed. */
const statedHash = (entry: EndpointSpec, body: unknown): (readonly [string, string])[] =>
  entry.bytes === 'request' ? [['X-Content-SHA256', sha256(bytesOf(body))]] : []

const bytesOf = (body: unknown): Buffer =>
  Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : body ? JSON.stringify(body) : '')

export function send(entry: EndpointSpec, ready: Ready): Promise<Reply> {
  const { by, override = {}, body } = ready
  const extra = [...(ready.extra ?? []), ...statedHash(entry, body)]
  const call = {
    method: ready.method ?? entry.method,
    target: targetOf(entry, ready),
    override,
    extra,
    ...(body !== undefined && { body }),
  }
  if ('keys' in by) {
    return by.call({
      ...call,
      ...(entry.idempotent ? ready.key !== undefined && { key: ready.key } : { key: ready.key ?? null }),
      ...(entry.caller === 'agent-without-session' ? { session: null } : {}),
      ...(ready.session !== undefined && { session: ready.session }),
      ...(ready.time !== undefined && { time: ready.time }),
      ...(ready.nonce !== undefined && { nonce: ready.nonce }),
    })
  }
  const key = ready.key ?? (entry.idempotent && ready.key !== null ? crypto.randomUUID() : undefined)
  if (by instanceof TestOwner) return by.call({ ...call, ...(key !== undefined && { key }) })
  const stranger = new TestOwner(by.url, '')
  const isOwners = entry.caller.startsWith('owner')
  const nothing = { Cookie: null, ...(!isOwners && { Origin: null }) }
  return stranger.call({ ...call, override: { ...nothing, ...override } })
}
