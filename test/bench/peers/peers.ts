/**
 * Complete tasks per second of graphile-worker on PostgreSQL and of BullMQ on Redis, if those services are
 * installed.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { hasPostgres, hasRedis, installPeers, type Service, startPostgres, startRedis } from './services.ts'

export interface Peers {
  /** One sentence for each service that could not be started. */
  readonly missing: readonly string[]
  readonly graphile: Peer | undefined
  readonly bullmq: Peer | undefined
  end(): Promise<void>
}

export interface Peer {
  /** Enqueues, claims and completes this many tasks; returns complete ones per second. */
  rate(count: number): number
}

interface Measured {
  readonly enqueueMs: number
  readonly workMs: number
}

export async function startPeers(under: string): Promise<Peers> {
  const missing: string[] = []
  if (!hasPostgres()) missing.push('graphile-worker is not compared: PostgreSQL is not installed')
  if (!hasRedis()) missing.push('BullMQ is not compared: Redis is not installed')
  const services: Service[] = []
  const end = async () => {
    for (const service of services) await service.end()
  }
  const absent = { missing, graphile: undefined, bullmq: undefined, end }
  if (missing.length === 2) return absent
  try {
    const folder = installPeers(under)
    const start = async (isThere: boolean, name: string, begin: (under: string) => Promise<Service>) => {
      if (!isThere) return undefined
      const service = await begin(under)
      services.push(service)
      return peer(join(folder, name), service)
    }
    const graphile = await start(hasPostgres(), 'graphile-worker.mjs', startPostgres)
    const bullmq = await start(hasRedis(), 'bullmq.mjs', startRedis)
    return { missing, graphile, bullmq, end }
  } catch (error) {
    await end()
    const problem = error instanceof Error ? error.message.split('\n')[0] : String(error)
    return { ...absent, missing: [...missing, `no comparison with queues: ${problem}`] }
  }
}

const peer = (program: string, { at }: Service): Peer => ({
  rate(count) {
    const args = [program, at, String(count)]
    const told = execFileSync(process.execPath, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const { enqueueMs, workMs } = JSON.parse(told) as Measured
    return count / ((enqueueMs + workMs) / 1000)
  },
})
