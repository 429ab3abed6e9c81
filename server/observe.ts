/**
 * Values that a scrape reads from the running server. Each takes a few file system calls or one small query,
 * whatever the amount of data.
 */
import { pendingVerifications } from '../sdk/signing/proof.ts'
import { version } from '../sdk/version.ts'
import type { Context } from './context.ts'
import type { NodeDatabase } from './database/node-database.ts'
import type { NodeLoad } from './database/nodes.ts'
import { readiness } from './health/readiness.ts'
import type { Observed } from './metrics/observed.ts'
import { reservePath } from './storage/reserve-file.ts'
import { bytesOf, databaseBytes, roomOf } from './storage/sizes.ts'
import { reservedBytes } from './transfers/store.ts'

export function observe(context: Context, { writer, reader }: NodeDatabase): Observed {
  const { config, presence, ownerWaits } = context
  return {
    version,
    waits: () => ({ ...presence.waitsByTransport, owner: ownerWaits.size }),
    queues: () => ({
      writes: writer.queueLength(),
      reads: reader.queueLength(),
      verifications: pendingVerifications(),
    }),
    sessions: async () => ({
      active: await activeSessions(context),
      waiting: presence.waitingSessions().length,
    }),
    async storage() {
      const packages = await context.read((db) => reservedBytes(db))
      return {
        ...(await databaseBytes(config.data)),
        packages,
        reserve: await bytesOf(reservePath(config.data)),
      }
    },
    async disk() {
      const { freeBytes, totalBytes } = await roomOf(config.data)
      return { free: freeBytes, size: totalBytes }
    },
    peers: () => {
      const { mode } = context.bus
      return mode === 'none'
        ? {}
        : { notified: mode === 'notified' ? 1 : 0, polled: mode === 'polled' ? 1 : 0 }
    },
    notifications: () => (context.bus.mode === 'none' ? {} : { ...context.bus.counts }),
    async readiness() {
      const { checks } = await readiness(context)
      return Object.fromEntries(Object.entries(checks).map(([name, holds]) => [name, holds ? 1 : 0]))
    },
  }
}

/** Load of this node, for the others. */
export const loadOf = ({ ownHost, presence, ownerWaits }: Context): NodeLoad => ({
  percent: ownHost().cpu_percent,
  waits: Object.values(presence.waitsByTransport).reduce((sum, count) => sum + count, ownerWaits.size),
})

/** Counts active sessions. There is at most one per agent, and a separate index holds only these. */
const activeSessions = (context: Context): Promise<number> =>
  context.read(async (db) => {
    const { count } = await db
      .selectFrom('sessions')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('state', '=', 'active')
      .executeTakeFirstOrThrow()
    return count
  })
