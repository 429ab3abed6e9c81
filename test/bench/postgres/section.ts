/**
 * A node on PostgreSQL beside one on SQLite, on the same cores: durable signed sends, complete cycles, whole
 * tasks, and the start on a large database. Also two nodes beside one, wake-ups at a second one, one inbox
 * beside many, the number of statements, and a disk with slow syncs. PostgreSQL is started by the section, on the
 * same disk.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasPostgres } from '../../support/postgres-cluster.ts'
import { drive } from '../messages/connection.ts'
import { cycles } from '../messages/cycles.ts'
import { type Listen, transports } from '../messages/listening.ts'
import { compare } from '../messages/section.ts'
import { sends } from '../messages/world.ts'
import { noCosts } from '../processor.ts'
import { type BenchOptions, bounded, type Row, row, type Target } from '../rows.ts'
import { slowDisk } from '../slow-disk.ts'
import { callerOf, poolOf, wholeTasks } from '../tasks/client.ts'
import { inTurns } from '../turns.ts'
import { fillMessages } from './fill.ts'
import { statements } from './statements.ts'
import { waking } from './waking.ts'
import { openTwoStores, type TwoStores } from './world.ts'

/** Projects that two nodes share. */
const projectCount = 32
const [, listen] = transports[0] as readonly [string, Listen]

export async function* postgresSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  if (!hasPostgres) {
    yield 'postgres: needs the programs of PostgreSQL, as Debian installs them'
    return
  }
  const stores = await openTwoStores(projectCount)
  try {
    const rounds = isQuick ? 2 : 5
    yield* sending(stores, rounds, isQuick ? 600 : 4000)
    yield* cycling(stores, rounds, isQuick ? 200 : 1500)
    yield* waking(stores, rounds, isQuick ? 2 : 5)
    yield* working(stores, rounds, isQuick ? 500 : 2000)
    yield* toOneInbox(stores, rounds, isQuick ? 600 : 4000)
    yield* onTwoNodes(stores, rounds, isQuick)
    yield* statements(stores, isQuick)
    yield* starting(stores, isQuick ? 100_000 : 1_000_000)
  } finally {
    await stores.end()
  }
  yield* slowSending(isQuick)
}

async function* sending({ onPostgres, onSqlite, senders }: TwoStores, rounds: number, count: number) {
  const sides = { product: onPostgres, floor: onSqlite }
  await compare(sides, 1, 32, () => sends(senders, count))
  for (const atOnce of [32, 1]) {
    const found = await compare(sides, rounds, atOnce, () => sends(senders, atOnce === 1 ? count / 4 : count))
    const rates = { ...found.perSecond, costs: found.cpuUs }
    const target = atOnce === 32 ? ({ atLeast: 0.4 } as const) : 'for comparison'
    yield row(`postgres: durable sends a second over SQLite, ${atOnce} at once`, '1/s', rates, target)
  }
}

async function* cycling({ onPostgres, onSqlite, readers }: TwoStores, rounds: number, count: number) {
  const sides = { product: onPostgres, floor: onSqlite }
  const rates = await inTurns(rounds, sides, async (side) => ({
    perSecond: await cycles(sides[side].port, readers, listen, count),
    done: count,
  }))
  const target: Target = { atLeast: 0.35 }
  yield row('postgres: sent, offered, acknowledged over SQLite, 32 in flight', '1/s', rates, target)
}

/** Each round has a pair of its own, so that no inbox fills up. */
async function* working({ onPostgres, onSqlite, workers }: TwoStores, rounds: number, ms: number) {
  const sides = { product: onPostgres, floor: onSqlite }
  const rates = await inTurns(rounds, sides, async (side, round) => {
    const pair = workers[round]
    if (pair === undefined) throw new Error('too few pairs')
    const pool = poolOf(`http://127.0.0.1:${sides[side].port}`)
    const [creator, worker] = [callerOf(pair.sender), callerOf(pair.recipient)]
    try {
      return await wholeTasks(
        { pool, base: '/api/v1/tasks', creator, worker, assignee: pair.recipient.id },
        32,
        ms,
      )
    } finally {
      await pool.close()
    }
  })
  yield row('postgres: whole tasks over SQLite, 32 at once', '1/s', rates, { atLeast: 0.35 })
}

async function* toOneInbox(stores: TwoStores, rounds: number, count: number) {
  const { onPostgres, senders, star, cluster } = stores
  const sides = { product: onPostgres, floor: onPostgres }
  const rates = await inTurns(rounds, sides, async (side) => {
    const { perSecond } = await drive(onPostgres.port, sends(side === 'product' ? star : senders, count), 32)
    await cluster.query(`WITH read AS (UPDATE messages SET acknowledged_at = created_at
        WHERE acknowledged_at IS NULL AND project_id = '${star[0]?.recipient.enrolled.project.id}')
      UPDATE inboxes SET waiting = 0 WHERE agent_id = '${star[0]?.recipient.id}'`)
    return { perSecond, done: count }
  })
  yield row('postgres: sends to one inbox over sends to many, 32 at once', '1/s', rates, { atLeast: 0.8 })
}

async function* onTwoNodes(stores: TwoStores, rounds: number, isQuick: boolean) {
  const { onPostgres, workers } = stores
  const second = await stores.startSecond()
  try {
    const count = isQuick ? 600 : 4000
    const usage = async () => {
      const [one, other] = await Promise.all([onPostgres.usage(), second.usage()])
      return { cpuMs: one.cpuMs + other.cpuMs, residentKiB: one.residentKiB + other.residentKiB }
    }
    const sides = { product: { ...second, usage }, floor: onPostgres }
    const rates = await inTurns(rounds, sides, async (side) => {
      const ports = side === 'floor' ? [onPostgres.port] : [onPostgres.port, second.port]
      const requests = sends(workers, count)
      const share = Math.ceil(count / ports.length)
      const began = performance.now()
      await Promise.all(
        ports.map((port, index) =>
          drive(port, requests.slice(index * share, (index + 1) * share), 64 / ports.length),
        ),
      )
      return { perSecond: count / ((performance.now() - began) / 1000), done: count }
    })
    const figure = `postgres: sends at two nodes over one, 64 at once over ${projectCount} projects`
    yield row(figure, '1/s', rates, { atLeast: 0.85 })
  } finally {
    await second.end()
  }
}

async function* starting(stores: TwoStores, messages: number) {
  const all: number[] = []
  const costs = noCosts()
  for (let round = 0; round < 3; round += 1) {
    const fill = () => (round === 0 ? fillMessages(stores, messages) : Promise.resolve())
    const { tookS, cpuMs } = await stores.restart(fill)
    all.push(tookS)
    costs.product.push(cpuMs * 1000)
  }
  yield bounded(`postgres: ready on ${messages} messages`, 's', all, 2, costs)
}

/** PostgreSQL with a disk whose syncs take 2 ms longer: many parallel sends beside one at a time. */
async function* slowSending(isQuick: boolean): AsyncGenerator<Row | string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-slow-'))
  // PostgreSQL may run as another user.
  chmodSync(folder, 0o755)
  const environment = slowDisk(folder)
  if (typeof environment === 'string') yield environment
  else {
    // The programs of PostgreSQL inherit the environment of this process, the nodes do not.
    process.env.LD_PRELOAD = environment.LD_PRELOAD
    const stores = await openTwoStores(0).finally(() => {
      delete process.env.LD_PRELOAD
    })
    try {
      const { onPostgres, senders } = stores
      const rates = await inTurns(
        isQuick ? 1 : 5,
        { product: onPostgres, floor: onPostgres },
        async (side) => {
          const [atOnce, count] = side === 'product' ? [32, isQuick ? 600 : 4000] : [1, isQuick ? 60 : 300]
          const { perSecond } = await drive(onPostgres.port, sends(senders, count), atOnce)
          return { perSecond, done: count }
        },
      )
      yield row('postgres: syncs 2 ms slower, 32 connections over 1', '1/s', rates, { atLeast: 5 })
    } finally {
      await stores.end()
    }
  }
  rmSync(folder, { recursive: true, force: true })
}
