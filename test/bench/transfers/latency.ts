/**
 * The time from sending a message to its receipt over a socket, at a steady rate, by two agents of this
 * process.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Bridge } from '../../../sdk/index.ts'

export interface Talk {
  /** The milliseconds of each message received since the last call, in order. */
  take(): number[]
  /** The number of those messages. */
  readonly size: number
  end(): Promise<void>
}

const everyMs = 25

/** Sends forty messages per second, each acknowledged. Resolves when the first one is received. */
export async function talking(from: Bridge, to: Bridge, name: string): Promise<Talk> {
  const stop = new AbortController()
  const sentAt = new Map<string, number>()
  let taken: number[] = []
  const first = Promise.withResolvers<void>()
  const listening = (async () => {
    for await (const message of to.listen({ signal: stop.signal, transports: ['socket'] })) {
      const at = sentAt.get(message.body)
      if (at !== undefined) taken.push(performance.now() - at)
      sentAt.delete(message.body)
      first.resolve()
      await message.acknowledge()
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) first.reject(error)
  })
  const sending = (async () => {
    for (let index = 0; !stop.signal.aborted; index += 1) {
      const body = `message ${index}`
      sentAt.set(body, performance.now())
      // The next send does not wait for this answer: a slow answer must not reduce the rate.
      void from.messages.sendTo(name, { type: 'note', body }).catch(() => sentAt.delete(body))
      await pause(everyMs)
    }
  })()
  await first.promise
  return {
    get size() {
      return taken.length
    },
    take: () => {
      const all = taken
      taken = []
      return all
    },
    end: async () => {
      stop.abort()
      await Promise.all([listening, sending])
    },
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
