/**
 * Readiness: whether requests may be sent to this server.
 *
 * "200 with body field ready true when auth configuration is valid, the envelope key decodes to 32 bytes and
 * the database records required migrations 005, 021 and 022; otherwise 503 with ready false." Spec §4.4.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Readiness } from '../../sdk/contract/health.ts'
import type { Context } from '../context.ts'
import { requiredMigrations } from '../database/migrations/index.ts'
import { isEnvelopeKey } from '../storage/envelope-keys.ts'

/** States in which the database answers. A full disk is reported as `storage` instead. */
const writes = new Set(['open', 'full'])

/** Runs all checks. `log` is that of the request, if there is one. */
export async function readiness(context: Context, log = context.log): Promise<Readiness> {
  const recorded = await recordedMigrations(context, log)
  const packages = context.packages.answers()
  const checks = {
    auth:
      URL.canParse(context.portalOrigin()) &&
      new URL(context.portalOrigin()).origin === context.portalOrigin(),
    envelope_key: isEnvelopeKey(context.config.envelopeKeyFile),
    migrations: recorded !== undefined && requiredMigrations.every((number) => recorded.includes(number)),
    database: recorded !== undefined && writes.has(context.storeState()) && !context.stopping.aborted,
    storage: context.storage.state !== 'full' && context.storeState() !== 'full',
    nodes: context.ownsDataFolder() && context.nodes.isMember(),
  }
  const ready = Object.values(checks).every((check) => check)
  // All nodes have the same object store. If its failure made them unready, a load balancer would take them all
  // out, and nobody could send a message.
  return { ready, checks, peers: context.bus.mode, durability: context.durability(), packages }
}

/**
 * Time limit of the check on PostgreSQL. SQLite is in this process. The answer "not ready" must arrive within
 * two seconds.
 */
const answerWithinMs = 1500

/** Returns undefined if the database does not answer. */
async function recordedMigrations(context: Context, log: FastifyBaseLogger): Promise<number[] | undefined> {
  const reading = context.read((db) => db.selectFrom('schema_migrations').select('number').execute())
  try {
    const rows = await (context.config.databaseUrl === undefined ? reading : within(answerWithinMs, reading))
    return rows.map((row) => row.number)
  } catch (error) {
    log.error({ err: error }, 'failed to read the database')
    return undefined
  }
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the database has not answered for ${ms / 1000} s`)), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
    promise.catch(() => {})
  }
}
