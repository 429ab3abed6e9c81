/** Calls without an identity: health and readiness of a node, and reporting a host's load. Contract §11. */
import { randomBytes } from 'node:crypto'
import { type Health, health, type Readiness } from './contract/health.ts'
import { type HostSample, type HostSampleInput, telemetry } from './contract/telemetry.ts'
import { parseBaseUrl } from './transport/address.ts'
import { LocalError } from './transport/failures.ts'
import { type Fetch, pooledFetch } from './transport/fetch.ts'
import { type CallOptions, Transport } from './transport/http.ts'
import { defaultClient, userAgentOf } from './version.ts'

/** Address of the node, and the means to call it. */
export interface NodeOptions extends CallOptions {
  readonly baseUrl: string
  readonly fetch?: Fetch | undefined
  readonly random?: ((bytes: number) => Buffer) | undefined
  readonly allowPlainHttp?: boolean | undefined
}

/** Health and readiness of a node. */
export interface NodeStatus {
  readonly health: Health
  readonly readiness: Readiness
}

/**
 * Reads health and readiness of a node. A node that is not ready is no error.
 *
 * @throws LocalError if no bridge node answers.
 */
export const nodeStatus = (options: NodeOptions): Promise<NodeStatus> =>
  withNode(options, {}, async (transport) => ({
    health: await nodeHealth(transport, options),
    readiness: await transport.call(health.ready, {}, options),
  }))

/** Options of {@link reportHost}: the node, the token and the sample. */
export interface ReportOptions extends NodeOptions {
  /** Token from `bridge server telemetry-token`, run on the node's host. */
  readonly token: string
  readonly sample: HostSampleInput
}

/**
 * Reports one load sample of a host. The node keeps the latest sample of each host.
 *
 * @throws BridgeError `unauthenticated` for a wrong token; `capacity_reached` if too many hosts report.
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

/**
 * Reads the health of a node.
 *
 * @throws LocalError `bad_response` if something other than a bridge node answers.
 */
export async function nodeHealth(transport: Transport, options: CallOptions = {}): Promise<Health> {
  const answer = await transport.call(health.get, {}, options)
  // The transport has checked that the field exists, but not its value.
  if (answer.service === 'agent-bridge') return answer
  throw new LocalError('bad_response', 'GET /api/health: what answers is not a bridge node')
}
