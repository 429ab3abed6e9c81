/**
 * The node on SQLite beside an earlier version of itself, on copies of one installation: durable signed sends,
 * complete cycles, and whole tasks. `BRIDGE_BENCH_EARLIER` names the commit of that version. It is built with the
 * packages of this one.
 */

import { drive } from '../messages/connection.ts'
import { cycles } from '../messages/cycles.ts'
import { type Listen, transports } from '../messages/listening.ts'
import { sends } from '../messages/world.ts'
import { type BenchOptions, type Row, row } from '../rows.ts'
import { callerOf, poolOf, wholeTasks } from '../tasks/client.ts'
import { inTurns } from '../turns.ts'
import { isCommit, openVersions, type Versions } from './world.ts'

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
  const rounds = isQuick ? 2 : 10
  const versions = await openVersions(commit, rounds + 1)
  try {
    yield* sending(versions, rounds, isQuick ? 2000 : 8000)
    yield* cycling(versions, rounds, isQuick ? 500 : 2000)
    yield* working(versions, rounds, isQuick ? 500 : 2000)
  } finally {
    await versions.end()
  }
}

async function* sending(versions: Versions, rounds: number, count: number) {
  const rates = await inTurns(rounds, versions, async (side) => {
    const { perSecond } = await drive(versions[side].port, sends(versions.senders, count), 32)
    return { perSecond, done: count }
  })
  yield row('earlier: durable sends a second on SQLite, 32 connections', '1/s', rates, target)
}

async function* cycling(versions: Versions, rounds: number, count: number) {
  const rates = await inTurns(rounds, versions, async (side) => ({
    perSecond: await cycles(versions[side].port, versions.readers, listen, count),
    done: count,
  }))
  yield row('earlier: sent, offered, acknowledged on SQLite, 32 in flight', '1/s', rates, target)
}

/** Each round has a pair of its own, so that no inbox fills up. */
async function* working(versions: Versions, rounds: number, ms: number) {
  const rates = await inTurns(rounds, versions, async (side, round) => {
    const pair = versions.workers[round]
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
  yield row('earlier: whole tasks on SQLite, 32 at once', '1/s', rates, target)
}
