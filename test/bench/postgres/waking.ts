/**
 * Messages that are sent at one node and received by waits at another node of the same database, beside those
 * that are received at the node itself: the time from sending to receipt, 200 messages a second.
 */
import { type Latency, latencies } from '../messages/latency.ts'
import { type Listen, transports } from '../messages/listening.ts'
import { noCosts } from '../processor.ts'
import { type Row, row } from '../rows.ts'
import type { TwoStores } from './world.ts'

type Side = 'product' | 'floor'

export async function* waking(stores: TwoStores, rounds: number, seconds: number): AsyncGenerator<Row> {
  const { onPostgres, readers } = stores
  const [, listen] = transports[0] as readonly [string, Listen]
  const second = await stores.startSecond()
  const tookMs = { product: [] as number[], floor: [] as number[], costs: noCosts() }
  const note = (side: Side, { p50, cpuUs }: Latency) => {
    tookMs[side].push(p50)
    tookMs.costs[side].push(cpuUs)
  }
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const same = await latencies(onPostgres, readers, listen, seconds)
      const other = await latencies(second, readers, listen, seconds, onPostgres)
      // The first round warms both up.
      if (round === 0) continue
      note('floor', same)
      note('product', other)
    }
  } finally {
    await second.end()
  }
  yield row('postgres: wake-up at another node over the same node, p50', 'ms', tookMs, { atMost: 3 })
}
