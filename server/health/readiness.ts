/**
 * Whether this server may be sent requests.
 *
 * "200 with body field ready true when auth configuration is valid, the envelope key decodes to 32 bytes and the
 * database records required migrations 005, 021 and 022; otherwise 503 with ready false." Spec §4.4.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Readiness } from '../../sdk/contract/health.ts'
import type { Context } from '../context.ts'
import { requiredMigrations } from '../database/migrations/index.ts'
import { isEnvelopeKey } from '../host/envelope/keys.ts'

/** A full disk is told apart: the database answers all the same. */
const writes = new Set(['open', 'full'])

/** `log` is of the request that asks, if one does. */
export async function readiness(context: Context, log = context.log): Promise<Readiness> {
  const recorded = await recordedMigrations(context, log)
  const checks = {
    auth:
      URL.canParse(context.portalOrigin()) &&
      new URL(context.portalOrigin()).origin === context.portalOrigin(),
    envelope_key: isEnvelopeKey(context.config.envelopeKeyFile),
    migrations: recorded !== undefined && requiredMigrations.every((number) => recorded.includes(number)),
    database: recorded !== undefined && writes.has(context.storeState()) && !context.stopping.aborted,
    storage: context.storage.state !== 'full' && context.storeState() !== 'full',
  }
  return { ready: Object.values(checks).every((check) => check), checks }
}

/** Undefined when the database does not answer. */
async function recordedMigrations(context: Context, log: FastifyBaseLogger): Promise<number[] | undefined> {
  try {
    const rows = await context.read((db) => db.selectFrom('schema_migrations').select('number').execute())
    return rows.map((row) => row.number)
  } catch (error) {
    log.error({ err: error }, 'the database does not answer')
    return undefined
  }
}
