/**
 * The channel between the nodes of a database: LISTEN and NOTIFY on one connection that is used for nothing
 * else. So no transaction of the product holds the lock that NOTIFY takes at its commit.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Channel } from '../channel.ts'
import { type ConnectionSettings, PostgresConnection } from './connection.ts'
import { placeOf } from './held.ts'
import type { Connects } from './link.ts'

/** PostgreSQL refuses a payload of 8,000 bytes. */
const maxBytes = 8000
const arrivesWithinMs = 1000

/**
 * Nodes of the same installation share a name. A database may hold several installations in several schemas.
 */
export const channelName = (serverId: string): string => `bridge_${serverId.replaceAll('-', '')}`

export interface Ways {
  readonly settings: ConnectionSettings
  /** Direct way to the same database, where `settings` lead through a pooler. */
  readonly listen?: ConnectionSettings | undefined
  /** Where the database of `settings` lies. */
  readonly place?: string
  /** Decides when a connection by `settings` is opened, by default at once. */
  readonly connects?: Connects
}

/** The direct way leads to another database than the node uses. */
export class OtherDatabaseError extends Error {
  override readonly name = 'OtherDatabaseError'
}

const isOther = async (connection: PostgresConnection, place: string): Promise<boolean> =>
  (await placeOf(connection)) !== place

const otherDatabase = () =>
  new OtherDatabaseError('database_listen_url leads to another database than database does')

/** A way that leads nowhere is no refusal, because the node polls. @throws OtherDatabaseError */
export async function requireSamePlace(listen: ConnectionSettings, place: string): Promise<void> {
  const connection = await PostgresConnection.open(listen).catch(() => undefined)
  if (connection === undefined) return
  try {
    if (await isOther(connection, place)) throw otherDatabase()
  } finally {
    await connection.close()
  }
}

export function createChannel(ways: Ways, name: string, self: string): Channel {
  const { settings, listen, place, connects = (open) => open() } = ways
  const openUsual = () => connects(() => PostgresConnection.open(settings))
  return {
    self,
    maxBytes,
    async connect({ onPayload, onEnd }) {
      const connection = await (listen === undefined ? openUsual() : PostgresConnection.open(listen))
      connection.onNotification(onPayload)
      connection.onEnd(onEnd)
      try {
        if (listen !== undefined && place !== undefined && (await isOther(connection, place)))
          throw otherDatabase()
        await connection.query({ text: `LISTEN "${name}"` })
      } catch (error) {
        connection.drop()
        throw error
      }
      return {
        send: (payloads) => notify(connection, name, payloads),
        drop: () => connection.drop(),
      }
    },
    async sendApart(payload) {
      const connection = await openUsual()
      try {
        await notify(connection, name, [payload])
      } finally {
        await connection.close()
      }
    },
  }
}

/** Returns whether a notification arrives that another connection sends. */
export async function hearsNotifications(ways: Ways): Promise<boolean> {
  const probe = `bridge_probe_${process.pid}`
  const channel = createChannel(ways, probe, probe)
  const heard = Promise.withResolvers<true>()
  const connection = await channel.connect({ onPayload: () => heard.resolve(true), onEnd: () => {} })
  try {
    await channel.sendApart(probe)
    return await Promise.race([heard.promise, sleep(arrivesWithinMs, false)])
  } finally {
    connection.drop()
  }
}

async function notify(connection: PostgresConnection, name: string, payloads: readonly string[]) {
  await connection.query({
    text: 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload',
    values: [name, payloads],
  })
}
