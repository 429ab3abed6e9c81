/** Reporting the load of a host, for a program that measures it. Contract §11. */
import { randomBytes } from 'node:crypto'
import { type HostSample, type HostSampleInput, telemetry } from './contract/telemetry.ts'
import type { NodeOptions } from './node-status.ts'
import { parseBaseUrl } from './transport/address.ts'
import { pooledFetch } from './transport/fetch.ts'
import { Transport } from './transport/http.ts'
import { defaultClient, userAgentOf } from './version.ts'

export interface ReportOptions extends NodeOptions {
  /** From `bridge server telemetry-token`, run on the node's host. */
  readonly token: string
  readonly sample: HostSampleInput
}

/**
 * Report one sample; the node keeps the latest of each host.
 *
 * @throws BridgeError `unauthenticated` for another token; `capacity_reached` when too many hosts report.
 */
export async function reportHost(options: ReportOptions): Promise<HostSample> {
  const pool = pooledFetch()
  const transport = new Transport({
    address: parseBaseUrl(options.baseUrl, options),
    authority: { headers: () => ({ authorization: `Bearer ${options.token}` }) },
    fetch: options.fetch ?? pool.fetch,
    random: options.random ?? randomBytes,
    userAgent: userAgentOf(defaultClient),
  })
  try {
    return await transport.call(telemetry.report, { body: options.sample }, options)
  } finally {
    await pool.close()
  }
}
