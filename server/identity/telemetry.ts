/** Verifies the telemetry token of a host's request. `telemetry/token.ts` describes the token. Contract §11. */
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { tokenDigest } from './owner.ts'
import type { IdentityServices } from './services.ts'

const bearer = /^Bearer ([A-Za-z0-9_-]{43})$/

/**
 * Checks the token. The database looks it up by its hash, so the time of the comparison reveals nothing.
 * @throws unauthenticated, rate_limited
 */
export async function proveTelemetry(
  context: Pick<IdentityServices, 'read' | 'throttle'>,
  { raw, clientAddress }: FastifyRequest,
): Promise<void> {
  const given = raw.rawHeaders.filter(
    (_, index) => raw.rawHeaders[index - 1]?.toLowerCase() === 'authorization' && index % 2 === 1,
  )
  const token = given.length === 1 ? bearer.exec(given[0] ?? '')?.[1] : undefined
  const known =
    token !== undefined &&
    (await context.read((db) =>
      db
        .selectFrom('telemetry_token')
        .select('one')
        .where('token_sha256', '=', tokenDigest(token))
        .executeTakeFirst(),
    )) !== undefined
  if (known) return
  context.throttle.countFailure('telemetry', clientAddress)
  throw new ApiError('unauthenticated', { message: 'Authorization must be "Bearer <telemetry token>".' })
}
