/**
 * Measures signed durable sends (also on a slow disk), the time from sending to receipt, complete cycles, and
 * reads of an empty inbox.
 *
 * Product and floor alternate and receive the same requests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Measured } from '../measured.ts'
import { costing, noCosts, usedBy } from '../processor.ts'
import { type BenchOptions, type Row, row, type Target } from '../rows.ts'
import { slowDisk } from '../slow-disk.ts'
import { type Driven, drive, requestBytes } from './connection.ts'
import { cycles } from './cycles.ts'
import { latencies } from './latency.ts'
import { type Listen, transports } from './listening.ts'
import { openWorld, type Pair, sends, type World } from './world.ts'

export async function* messagesSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const world = await openWorld()
  try {
    const rounds = isQuick ? 2 : 5
    yield* sending(world, rounds, isQuick)
    yield* receiving(world, isQuick ? { rounds: 1, seconds: 1 } : { rounds, seconds: 2 })
    yield* cycling(world, rounds, isQuick ? 600 : 3000)
    yield* reading(world, rounds, isQuick ? 1500 : 6000)
  } finally {
    await world.end()
  }
  yield* slowSending(isQuick)
}

interface Rounds {
  readonly product: number[]
  readonly floor: number[]
}

const empty = (): Rounds => ({ product: [], floor: [] })

interface Cost extends Driven {
  /** Processor time of the server per request. */
  readonly cpuUs: number
}

async function costOf(server: Measured, requests: readonly Buffer[], atOnce: number): Promise<Cost> {
  const { result, cpuMs } = await costing(usedBy(server), () => drive(server.port, requests, atOnce))
  return { ...result, cpuUs: (cpuMs * 1000) / requests.length }
}

/** Measures alternately, the floor first. */
export async function compare(
  { product, floor }: Pick<World, 'product' | 'floor'>,
  rounds: number,
  atOnce: number,
  make: () => readonly Buffer[],
): Promise<Record<keyof Cost, Rounds>> {
  const found = { perSecond: empty(), p99Ms: empty(), cpuUs: empty() }
  for (let round = 0; round < rounds; round += 1) {
    const requests = make()
    for (const side of ['floor', 'product'] as const) {
      const cost = await costOf(side === 'floor' ? floor : product, requests, atOnce)
      for (const name of ['perSecond', 'p99Ms', 'cpuUs'] as const) found[name][side].push(cost[name])
    }
  }
  return found
}

async function* sending(world: World, rounds: number, isQuick: boolean): AsyncGenerator<Row> {
  // The first, unmeasured round warms both up.
  await compare(world, 1, 32, () => sends(world.pairs, isQuick ? 3000 : 12_000))
  for (const [atOnce, count] of [
    [32, isQuick ? 2000 : 8000],
    [1, isQuick ? 300 : 2000],
    [128, isQuick ? 2000 : 8000],
  ] as const) {
    const found = await compare(world, rounds, atOnce, () => sends(world.pairs, count))
    const many = `${atOnce} connection${atOnce === 1 ? '' : 's'}`
    const target: Target = atOnce === 32 ? { atLeast: 0.7 } : 'for comparison'
    const rates = { ...found.perSecond, costs: found.cpuUs }
    yield row(`messages: durable sends a second, ${many}`, '1/s', rates, target)
    if (atOnce === 32) yield row('messages: the same, p99', 'ms', found.p99Ms, 'for comparison')
  }
}

async function* slowSending(isQuick: boolean): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-slow-'))
  const environment = slowDisk(folder)
  if (typeof environment === 'string') yield environment
  else {
    const world = await openWorld(environment)
    try {
      yield* slowRows(world, isQuick)
    } finally {
      await world.end()
    }
  }
  rmSync(folder, { recursive: true, force: true })
}

/** The rate of many parallel requests beside that of one, for the product and then for the floor. */
async function* slowRows(world: World, isQuick: boolean): AsyncGenerator<Row> {
  const [rounds, one, many] = isQuick ? [1, 150, 1500] : [5, 300, 4000]
  await compare(world, 1, 32, () => sends(world.pairs, many))
  const rates = { one: empty(), many: empty() }
  const costs = noCosts()
  for (let round = 0; round < rounds; round += 1) {
    const alone = await compare(world, 1, 1, () => sends(world.pairs, one))
    const together = await compare(world, 1, 32, () => sends(world.pairs, many))
    for (const side of ['product', 'floor'] as const) {
      rates.one[side].push(...alone.perSecond[side])
      rates.many[side].push(...together.perSecond[side])
      costs[side].push(...together.cpuUs[side])
    }
  }
  const ofSide = (side: keyof Rounds) => ({ product: rates.many[side], floor: rates.one[side] })
  yield row('messages: syncs 2 ms slower, 32 connections over 1', '1/s', ofSide('product'), { atLeast: 8 })
  yield row("messages: the same of the floor's", '1/s', ofSide('floor'), 'for comparison')
  yield row('messages: syncs 2 ms slower, 32 connections', '1/s', { ...rates.many, costs }, 'for comparison')
}

async function* receiving(
  { product, floor, readers }: World,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
) {
  for (const [name, listen] of transports) {
    const p50 = empty()
    const p99 = empty()
    const costs = noCosts()
    for (let round = 0; round < rounds; round += 1) {
      for (const side of ['floor', 'product'] as const) {
        const server = side === 'floor' ? floor : product
        const found = await latencies(server, readers.slice(0, 20), listen, seconds)
        p50[side].push(found.p50)
        p99[side].push(found.p99)
        costs[side].push(found.cpuUs)
      }
    }
    yield row(
      `messages: send to receipt, 200 a second, ${name}, p50`,
      'ms',
      { ...p50, costs },
      { atMost: 1.6 },
    )
    yield row(`messages: send to receipt, 200 a second, ${name}, p99`, 'ms', p99, { atMost: 2 })
  }
}

async function* cycling({ product, floor, readers }: World, rounds: number, count: number) {
  const rates = { ...empty(), costs: noCosts() }
  const [, listen] = transports[0] as readonly [string, Listen]
  await cycles(floor.port, readers, listen, count)
  await cycles(product.port, readers, listen, count)
  for (let round = 0; round < rounds; round += 1) {
    for (const side of ['floor', 'product'] as const) {
      const server = side === 'floor' ? floor : product
      const run = () => cycles(server.port, readers, listen, count)
      const { result, cpuMs } = await costing(usedBy(server), run)
      rates[side].push(result)
      rates.costs[side].push((cpuMs * 1000) / count)
    }
  }
  yield row('messages: sent, offered, acknowledged, 32 in flight', '1/s', rates, { atLeast: 0.65 })
}

/** The inboxes of agents that only send are empty. */
async function* reading(world: World, rounds: number, count: number): AsyncGenerator<Row> {
  const reads = (target: string) => () =>
    Array.from({ length: count }, (_, index) =>
      requestBytes((world.pairs[index % world.pairs.length] as Pair).sender, { target }),
    )
  await compare(world, 1, 32, reads('/api/v1/inbox'))
  const verified = await compare(world, rounds, 32, reads('/api/v1/inbox'))
  const rates = { ...verified.perSecond, costs: verified.cpuUs }
  yield row('messages: reads of an empty inbox, floor verifies only', '1/s', rates, { atLeast: 0.8 })
  const stored = await compare(world, rounds, 32, reads('/api/v1/inbox?limit=50'))
  const alike = { ...stored.perSecond, costs: stored.cpuUs }
  yield row('messages: the same, floor stores the nonce too', '1/s', alike, 'for comparison')
}
