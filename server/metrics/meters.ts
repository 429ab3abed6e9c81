/**
 * The measurements that the server reports while metrics are on. If they are off, these are never called and
 * the library is not loaded.
 *
 * No label holds a value that a client chose: an endpoint is named by its id in the contract, everything else
 * by fixed words.
 */
import type { FastifyRequest } from 'fastify'
import { endpoints } from '../../sdk/contract/index.ts'
import type { GroupReport } from '../database/writer.ts'
import type { Ending } from '../http/outcomes.ts'

/** One run of maintenance. */
export interface MaintenanceReport {
  readonly outcome: 'done' | 'failed' | 'skipped'
  readonly at: Date
  readonly jobs: readonly { readonly name: string; readonly done: number }[]
}

export interface Meters {
  answered(endpoint: string, status: number, seconds: number): void
  /** The client disconnected before it got the answer. */
  cut(endpoint: string): void
  group(report: GroupReport): void
  maintained(report: MaintenanceReport): void
  /** Rows that were deleted outside the hourly runs of maintenance. */
  removed(job: string, rows: number): void
  /** All metrics in Prometheus's text format. */
  text(): Promise<string>
  readonly contentType: string
}

/** Label of a request to an unknown path or method. */
const unknownEndpoint = 'none'

const idByRoute = new Map(
  endpoints.map(({ id, method, path }) => [`${method} ${path.replace(/\{([a-z_]+)\}/g, ':$1')}`, id]),
)

const endpointOf = ({ method, routeOptions }: FastifyRequest): string =>
  idByRoute.get(`${method} ${routeOptions.url ?? ''}`) ?? unknownEndpoint

export const countEnding =
  (context: { readonly meters: Meters | undefined }): Ending =>
  (request, reply, isWhole) => {
    const { meters } = context
    if (meters === undefined) return
    const endpoint = endpointOf(request)
    if (isWhole) meters.answered(endpoint, reply.statusCode, reply.elapsedTime / 1000)
    else meters.cut(endpoint)
  }
