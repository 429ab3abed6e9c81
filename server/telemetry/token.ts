/**
 * The token with which hosts report: 256 bits, made on the node's host, stored as a hash. There is one token;
 * a new one replaces it.
 *
 * Contract §11 "bearer telemetry token, from `bridge server telemetry-token`".
 */
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../api-error.ts'
import { recordAudit, systemActor } from '../audit/store.ts'
import type { Context } from '../context.ts'
import type { Writer } from '../database/writer.ts'
import { tokenDigest } from '../identity/owner.ts'

interface Maker {
  readonly write: Writer['write']
  readonly random: (bytes: number) => Buffer
}

export function makeTelemetryToken({ write, random }: Maker): Promise<string> {
  const token = random(32).toString('base64url')
  return write(async (tx) => {
    const row = { token_sha256: tokenDigest(token), created_at: tx.nowIso }
    await tx.db
      .insertInto('telemetry_token')
      .values({ one: 1, ...row })
      .onConflict((conflict) => conflict.column('one').doUpdateSet(row))
      .execute()
    await recordAudit(tx, {
      kind: 'telemetry.token_issued',
      actor: systemActor,
      project_id: null,
      subject: { type: 'telemetry_token', id: null },
    })
    return token
  })
}

const bearer = /^Bearer ([A-Za-z0-9_-]{43})$/

/**
 * Checks the token. The database looks it up by its hash, so the time of the comparison reveals nothing.
 * @throws unauthenticated, rate_limited
 */
export async function proveTelemetry(
  context: Context,
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
