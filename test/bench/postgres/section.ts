/**
 * A node on PostgreSQL beside one on SQLite, on the same cores: durable signed sends, complete cycles, wake-ups
 * at a second node, and the start on a large database. PostgreSQL is started by the section, on the same disk.
 */
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { cycles } from '../messages/cycles.ts'
import { type Listen, transports } from '../messages/listening.ts'
import { compare } from '../messages/section.ts'
import { sends } from '../messages/world.ts'
import { costing, noCosts, usedBy } from '../processor.ts'
import { type BenchOptions, bounded, type Row, row } from '../rows.ts'
import { fillMessages } from './fill.ts'
import { waking } from './waking.ts'
import { openTwoStores, type TwoStores } from './world.ts'

export async function* postgresSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  if (!hasPostgres) {
    yield 'postgres: needs the programs of PostgreSQL, as Debian installs them'
    return
  }
  const stores = await openTwoStores()
  try {
    const rounds = isQuick ? 2 : 5
    yield* sending(stores, rounds, isQuick ? 600 : 4000)
    yield* cycling(stores, rounds, isQuick ? 200 : 1500)
    yield* waking(stores, rounds, isQuick ? 2 : 5)
    yield* starting(stores, isQuick ? 100_000 : 1_000_000)
  } finally {
    await stores.end()
  }
}

async function* sending({ onPostgres, onSqlite, senders }: TwoStores, rounds: number, count: number) {
  const sides = { product: onPostgres, floor: onSqlite }
  await compare(sides, 1, 32, () => sends(senders, count))
  for (const atOnce of [32, 1]) {
    const found = await compare(sides, rounds, atOnce, () => sends(senders, atOnce === 1 ? count / 4 : count))
    const rates = { ...found.perSecond, costs: found.cpuUs }
    const target = atOnce === 32 ? ({ atLeast: 0.12 } as const) : 'for comparison'
    yield row(`postgres: durable sends a second over SQLite, ${atOnce} at once`, '1/s', rates, target)
  }
}

async function* cycling({ onPostgres, onSqlite, readers }: TwoStores, rounds: number, count: number) {
  const rates = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  const [, listen] = transports[0] as readonly [string, Listen]
  for (let round = 0; round <= rounds; round += 1) {
    for (const [side, server] of [
      ['floor', onSqlite],
      ['product', onPostgres],
    ] as const) {
      const { result, cpuMs } = await costing(usedBy(server), () =>
        cycles(server.port, readers, listen, count),
      )
      // The first round warms both up.
      if (round === 0) continue
      rates[side].push(result)
      rates.costs[side].push((cpuMs * 1000) / count)
    }
  }
  yield row('postgres: sent, offered, acknowledged over SQLite, 32 in flight', '1/s', rates, 'for comparison')
}

async function* starting(stores: TwoStores, messages: number) {
  const tookS: number[] = []
  for (let round = 0; round < 3; round += 1)
    tookS.push(await stores.restart(() => (round === 0 ? fillMessages(stores, messages) : Promise.resolve())))
  yield bounded(`postgres: ready on ${messages} messages`, 's', tookS, 2)
}
