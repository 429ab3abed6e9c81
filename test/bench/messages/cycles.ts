/**
 * Complete cycles: a message is sent, pushed to its recipient, and acknowledged. One cycle is in flight per
 * pair.
 */
import { Connection, requestBytes } from './connection.ts'
import type { Listen, Received } from './listening.ts'
import { type Pair, sendBytes } from './world.ts'

/** Returns the cycles per second. */
export async function cycles(
  port: number,
  pairs: readonly Pair[],
  listen: Listen,
  count: number,
): Promise<number> {
  const works = await Promise.all(pairs.map((pair) => openCycle(port, pair, listen)))
  let left = count
  const work = async (cycle: () => Promise<void>) => {
    while (left-- > 0) await cycle()
  }
  const began = performance.now()
  try {
    await Promise.all(works.map(({ cycle }) => work(cycle)))
    return count / ((performance.now() - began) / 1000)
  } finally {
    for (const { close } of works) close()
  }
}

async function openCycle(port: number, pair: Pair, listen: Listen) {
  const [sending, acknowledging] = await Promise.all([Connection.open(port), Connection.open(port)])
  let arrived = Promise.withResolvers<Received>()
  const hangUp = await listen(port, pair.recipient, (message) => arrived.resolve(message))
  const target = '/api/v1/acknowledgements'
  return {
    async cycle() {
      arrived = Promise.withResolvers()
      const sent = sending.ask(sendBytes(pair, 0))
      const { id } = await arrived.promise
      const call = { target, body: { message_ids: [id] }, key: null }
      await Promise.all([sent, acknowledging.ask(requestBytes(pair.recipient, call))])
    },
    close() {
      hangUp()
      sending.close()
      acknowledging.close()
    },
  }
}
