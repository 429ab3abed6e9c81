/** What anybody may ask a node: whether it lives, what it is, and whether it is ready. Contract §11. */
import { randomBytes } from 'node:crypto'
import { type Health, health, type Readiness } from './contract/health.ts'
import { parseBaseUrl } from './transport/address.ts'
import { LocalError } from './transport/failures.ts'
import { type Fetch, pooledFetch } from './transport/fetch.ts'
import { type CallOptions, Transport } from './transport/http.ts'
import { defaultClient, userAgentOf } from './version.ts'

export interface NodeOptions extends CallOptions {
  readonly baseUrl: string
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
  readonly allowPlainHttp?: boolean | undefined
}

export interface NodeStatus {
  readonly health: Health
  readonly readiness: Readiness
}

/** Health and readiness of a node. Not being ready is an answer. @throws LocalError when no bridge node answers. */
export async function nodeStatus(options: NodeOptions): Promise<NodeStatus> {
  const pool = pooledFetch()
  const transport = new Transport({
    address: parseBaseUrl(options.baseUrl, options),
    authority: { headers: () => ({}) },
    fetch: options.fetch ?? pool.fetch,
    random: options.random ?? randomBytes,
    userAgent: userAgentOf(defaultClient),
  })
  try {
    return {
      health: await nodeHealth(transport, options),
      readiness: await transport.call(health.ready, {}, options),
    }
  } finally {
    await pool.close()
  }
}

/** @throws LocalError `bad_response` when something else than a bridge answers. */
export async function nodeHealth(transport: Transport, options: CallOptions = {}): Promise<Health> {
  const answer = await transport.call(health.get, {}, options)
  // The field is there, as the transport has checked; what it says is for us to see.
  if (answer.service === 'agent-bridge') return answer
  throw new LocalError('bad_response', 'GET /api/health: what answers is not a bridge node')
}
