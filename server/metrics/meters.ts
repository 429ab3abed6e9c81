/**
 * What the server tells of its work while metrics are asked for; without them nobody calls this, and nothing is loaded.
 *
 * No label holds what a client chose: an endpoint is told by its id in the contract, everything else by words of ours.
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
  /** The client left before its answer. */
  cut(endpoint: string): void
  group(report: GroupReport): void
  maintained(report: MaintenanceReport): void
  /** Rows that were removed between the runs of maintenance. */
  removed(job: string, rows: number): void
  /** Everything, as a scraper reads it. */
  text(): Promise<string>
  readonly contentType: string
}

/** The label of a request to nowhere. */
const nowhere = 'none'

const idByRoute = new Map(
  endpoints.map(({ id, method, path }) => [`${method} ${path.replace(/\{([a-z_]+)\}/g, ':$1')}`, id]),
)

const endpointOf = ({ method, routeOptions }: FastifyRequest): string =>
  idByRoute.get(`${method} ${routeOptions.url ?? ''}`) ?? nowhere

export const countEnding =
  (context: { readonly meters: Meters | undefined }): Ending =>
  (request, reply, isWhole) => {
    const { meters } = context
    if (meters === undefined) return
    const endpoint = endpointOf(request)
    if (isWhole) meters.answered(endpoint, reply.statusCode, reply.elapsedTime / 1000)
    else meters.cut(endpoint)
  }
