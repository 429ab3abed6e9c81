/**
 * Measures complete tasks per second, each step signed and durable, against a bare server that writes the
 * same rows, and beside queues that sign nothing and keep no audit. Also measures the delay of a waiting
 * `task run`.
 *
 * Product and floor alternate, each round with new agents, so that no inbox and no nonce window fills up.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKeyPair } from '../../../sdk/signing/keys.ts'
import { enroll, type TestAgent } from '../../support/agent.ts'
import { setUpOwner, type TestOwner } from '../../support/owner.ts'
import type { ServerProcess } from '../../support/process.ts'
import { startProgram } from '../helper/programs.ts'
import { percentile } from '../messages/connection.ts'
import { startOperated } from '../operated.ts'
import { startPeers } from '../peers/peers.ts'
import { costing, noCosts, processMs } from '../processor.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'
import { startRunner } from './begin.ts'
import { type Caller, callerOf, poolOf, type Target, wholeTasks } from './client.ts'

interface Product {
  readonly server: ServerProcess
  readonly owner: TestOwner
}

export async function* tasksSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tasks-'))
  const floor = await startProgram([join(import.meta.dirname, 'floor.mjs'), folder])
  const server = await startOperated()
  const peers = await startPeers(folder)
  try {
    const product = { server, owner: await setUpOwner(server.url, server.setupLink) }
    const floorUrl = `http://127.0.0.1:${floor.port}`
    const size = isQuick ? { rounds: 2, ms: 500, peersTasks: 500 } : { rounds: 5, ms: 2000, peersTasks: 2000 }
    yield* peers.missing.map((word) => `tasks: ${word}`)
    // The parallel measurement comes first, which warms both programs up for the precise one.
    for (const atOnce of [32, 1]) {
      const rates = {
        product: [] as number[],
        floor: [] as number[],
        graphile: [] as number[],
        bullmq: [] as number[],
        costs: noCosts(),
      }
      const keep = (side: 'product' | 'floor', { perSecond, cpuUs }: Whole): void => {
        rates[side].push(perSecond)
        rates.costs[side].push(cpuUs)
      }
      for (let round = 0; round < size.rounds; round += 1) {
        keep('floor', await measured(floor.pid, await floorTarget(floorUrl), atOnce, size.ms))
        keep('product', await measured(server.pid, await productTarget(product), atOnce, size.ms))
        if (atOnce === 1) continue
        if (peers.graphile) rates.graphile.push(peers.graphile.rate(size.peersTasks))
        if (peers.bullmq) rates.bullmq.push(peers.bullmq.rate(size.peersTasks))
      }
      const figure = `tasks: whole ones a second, ${atOnce} worker${atOnce === 1 ? '' : 's'}`
      yield row(figure, '1/s', rates, { atLeast: 0.6 })
      if (rates.graphile.length > 0)
        yield row(
          `${figure}, beside graphile-worker`,
          '1/s',
          { product: rates.product, floor: rates.graphile },
          { atLeast: 1.2 },
        )
      if (rates.bullmq.length > 0)
        yield row(
          `${figure}, beside BullMQ`,
          '1/s',
          { product: rates.product, floor: rates.bullmq },
          'for comparison',
        )
    }
    yield* latency(product, folder, isQuick ? 40 : 500)
  } finally {
    await peers.end()
    await floor.end()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Whole {
  readonly perSecond: number
  /** Processor time of the server per task. */
  readonly cpuUs: number
}

async function measured(pid: number, target: Target, atOnce: number, ms: number): Promise<Whole> {
  try {
    await wholeTasks(target, atOnce, 200)
    const { result, cpuMs } = await costing(
      () => processMs(pid),
      () => wholeTasks(target, atOnce, ms),
    )
    return { perSecond: result.perSecond, cpuUs: (cpuMs * 1000) / result.done }
  } finally {
    await target.pool.close()
  }
}

async function floorTarget(url: string): Promise<Target> {
  const callers: Caller[] = []
  const pool = poolOf(url)
  for (let index = 0; index < 2; index += 1) {
    const keys = generateKeyPair()
    const id = crypto.randomUUID()
    const body = JSON.stringify({ id, x: keys.publicKey })
    await (await pool.request({ method: 'POST', path: '/key', body })).body.dump()
    callers.push({ serverId: 'floor', credentialId: id, keys, session: undefined })
  }
  const [creator, worker] = callers as [Caller, Caller]
  return { pool, base: '/tasks', creator, worker, assignee: worker.credentialId }
}

/** Creates two agents in a separate project. */
async function pairOf({ owner, server }: Product): Promise<[TestAgent, TestAgent, string]> {
  const project = await owner.createProject(`bench ${crypto.randomUUID()}`)
  const agent = async (name: string) => {
    const { id } = await owner.createAgent(project.id, name)
    const enrolled = await enroll(server.url, await owner.enrollmentCode(project.id, id), () => new Date())
    await enrolled.startSession()
    return enrolled
  }
  return [await agent('creator'), await agent('worker'), project.id]
}

async function productTarget(product: Product): Promise<Target> {
  const [creator, worker] = await pairOf(product)
  return {
    pool: poolOf(product.server.url),
    base: '/api/v1/tasks',
    creator: callerOf(creator),
    worker: callerOf(worker),
    assignee: worker.id,
  }
}

/** Both percentiles are over all created tasks, because a spread of single ones means nothing. */
async function* latency(product: Product, folder: string, count: number): AsyncGenerator<Row> {
  const [creator, other, projectId] = await pairOf(product)
  const { url } = product.server
  const runner = await startRunner({ url, owner: product.owner, projectId, folder })
  const pool = poolOf(url)
  const [by, worker] = [callerOf(creator), callerOf(other)]
  const target: Target = { pool, base: '/api/v1/tasks', creator: by, worker, assignee: runner.agentId }
  const waitsMs: number[] = []
  const costs = noCosts()
  try {
    // The first tasks load the modules that a runner loads once.
    for (let index = 0; index < 10; index += 1) await runner.begin(target)
    const before = processMs(product.server.pid)
    for (let index = 0; index < count; index += 1) waitsMs.push(await runner.begin(target))
    costs.product.push(((processMs(product.server.pid) - before) * 1000) / count)
  } finally {
    await runner.end()
    await pool.close()
  }
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const figure = `tasks: creation to start of the command, ${name} of ${count}`
    yield bounded(figure, 'ms', [percentile(waitsMs, share)], 20, costs)
  }
}
