/** What one may ask a node without being anybody to it: whether it lives and is ready; and telling it a host's load. Contract §11. */
import { randomBytes } from 'node:crypto'
import { type Health, health, type Readiness } from './contract/health.ts'
import { type HostSample, type HostSampleInput, telemetry } from './contract/telemetry.ts'
import { parseBaseUrl } from './transport/address.ts'
import { LocalError } from './transport/failures.ts'
import { type Fetch, pooledFetch } from './transport/fetch.ts'
import { type CallOptions, Transport } from './transport/http.ts'
import { defaultClient, userAgentOf } from './version.ts'

/** Which node to ask, and by what. */
export interface NodeOptions extends CallOptions {
  readonly baseUrl: string
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
  readonly allowPlainHttp?: boolean | undefined
}

/** What a node says of itself without a credential. */
export interface NodeStatus {
  readonly health: Health
  readonly readiness: Readiness
}

/** Health and readiness of a node. Not being ready is an answer. @throws LocalError when no bridge node answers. */
export const nodeStatus = (options: NodeOptions): Promise<NodeStatus> =>
  withNode(options, {}, async (transport) => ({
    health: await nodeHealth(transport, options),
    readiness: await transport.call(health.ready, {}, options),
  }))

/** Which node to ask for its report, and by what token. */
export interface ReportOptions extends NodeOptions {
  /** From `bridge server telemetry-token`, run on the node's host. */
  readonly token: string
  readonly sample: HostSampleInput
}

/**
 * Report the load of a host once, for a program that measures it; the node keeps the latest sample of each.
 *
 * @throws BridgeError `unauthenticated` for another token; `capacity_reached` when too many hosts report.
 */
export const reportHost = (options: ReportOptions): Promise<HostSample> =>
  withNode(options, { authorization: `Bearer ${options.token}` }, (transport) =>
    transport.call(telemetry.report, { body: options.sample }, options),
  )

async function withNode<T>(
  options: NodeOptions,
  headers: Record<string, string>,
  act: (transport: Transport) => Promise<T>,
): Promise<T> {
  const pool = pooledFetch()
  const transport = new Transport({
    address: parseBaseUrl(options.baseUrl, options),
    authority: { headers: () => headers },
    fetch: options.fetch ?? pool.fetch,
    random: options.random ?? randomBytes,
    userAgent: userAgentOf(defaultClient),
  })
  try {
    return await act(transport)
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
