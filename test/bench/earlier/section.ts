/**
 * The node on SQLite beside an earlier version of itself, on copies of one installation: durable signed sends,
 * complete cycles, and whole tasks. `BRIDGE_BENCH_EARLIER` names the commit of that version. It is built with the
 * packages of this one. Two processes of the same program may differ for as long as they run, so both versions are
 * started three times. Rounds are short, because the speed of a machine changes within seconds.
 */

import { drive } from '../messages/connection.ts'
import { cycles } from '../messages/cycles.ts'
import { type Listen, transports } from '../messages/listening.ts'
import { type Pair, sends } from '../messages/world.ts'
import { noCosts } from '../processor.ts'
import { type BenchOptions, type Row, row } from '../rows.ts'
import { callerOf, poolOf, wholeTasks } from '../tasks/client.ts'
import { inTurns } from '../turns.ts'
import { type Copies, isCommit, makeCopies, type Versions } from './world.ts'

const [, listen] = transports[0] as readonly [string, Listen]
const target = { atLeast: 0.97 }

export async function* earlierSection({ isQuick }: BenchOptions): AsyncGenerator<Row | string> {
  const commit = process.env.BRIDGE_BENCH_EARLIER
  if (commit === undefined) {
    yield 'earlier: BRIDGE_BENCH_EARLIER names no commit to compare with'
    return
  }
  if (!isCommit(commit)) {
    yield `earlier: BRIDGE_BENCH_EARLIER is ${commit}, which is no commit of this clone`
    return
  }
  const [starts, rounds] = isQuick ? [1, 2] : [3, 20]
  const copies = await makeCopies(commit, starts * (rounds + 1))
  const [sent, cycled, worked] = [noRates(), noRates(), noRates()]
  try {
    for (let start = 0; start < starts; start += 1)
      await copies.serving(async (versions) => {
        const pairs = copies.workers.slice(start * (rounds + 1))
        add(sent, await sending(versions, copies, rounds, 2000))
        add(cycled, await cycling(versions, copies, rounds, 500))
        add(worked, await working(versions, pairs, rounds, 500))
      })
  } finally {
    copies.remove()
  }
  yield row('earlier: durable sends a second on SQLite, 32 connections', '1/s', paired(sent), target)
  yield row('earlier: sent, offered, acknowledged on SQLite, 32 in flight', '1/s', paired(cycled), target)
  yield row('earlier: whole tasks on SQLite, 32 at once', '1/s', paired(worked), target)
}

type Rates = Awaited<ReturnType<typeof inTurns>>

const paired = (rates: Rates) => ({ ...rates, isPaired: true })
const noRates = (): Rates => ({ product: [], floor: [], costs: noCosts() })

function add(all: Rates, more: Rates): void {
  for (const side of ['product', 'floor'] as const) {
    all[side].push(...more[side])
    all.costs[side].push(...more.costs[side])
  }
}

const sending = (versions: Versions, { senders }: Copies, rounds: number, count: number) =>
  inTurns(rounds, versions, async (side) => {
    const { perSecond } = await drive(versions[side].port, sends(senders, count), 32)
    return { perSecond, done: count }
  })

const cycling = (versions: Versions, { readers }: Copies, rounds: number, count: number) =>
  inTurns(rounds, versions, async (side) => ({
    perSecond: await cycles(versions[side].port, readers, listen, count),
    done: count,
  }))

/** Each round has a pair of its own, so that no inbox fills up. */
const working = (versions: Versions, pairs: readonly Pair[], rounds: number, ms: number) =>
  inTurns(rounds, versions, async (side, round) => {
    const pair = pairs[round]
    if (pair === undefined) throw new Error('too few pairs')
    const pool = poolOf(`http://127.0.0.1:${versions[side].port}`)
    const [creator, worker] = [callerOf(pair.sender), callerOf(pair.recipient)]
    try {
      const base = '/api/v1/tasks'
      return await wholeTasks({ pool, base, creator, worker, assignee: pair.recipient.id }, 32, ms)
    } finally {
      await pool.close()
    }
  })
