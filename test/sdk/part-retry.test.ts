/** How often and how long a part is tried again. Contract §9. */
import { expect, test } from 'vitest'
import { PartRetry } from '../../sdk/transfers/wire/part-retry.ts'
import { BridgeError, LocalError } from '../../sdk/transport/failures.ts'

const away = new LocalError('unreachable', 'away')
const refusal = (retry_after_ms: number) =>
  new BridgeError({ method: 'PUT', path: '/parts/0' }, 503, {
    ...{ error: 'unavailable', message: 'no', request_id: 'r' },
    retry_after_ms,
  })

/** The pauses before each further try, until the failure is thrown. */
async function pausesAfter(error: Error): Promise<number[]> {
  const pauses: number[] = []
  const retry = new PartRetry({ sleep: async (ms) => void pauses.push(ms) })
  const again = async () => {
    for (;;) await retry.afterFailure(error)
  }
  await expect(again()).rejects.toBe(error)
  return pauses
}

const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0)

test('a node is tried again for 16 seconds, and one that was away for a second within 1.5', async () => {
  const pauses = await pausesAfter(away)
  expect(sum(pauses)).toBeGreaterThanOrEqual(16_000)
  expect(sum(pauses.slice(0, -1))).toBeLessThan(16_000)
  const triesMs = pauses.map((_, index) => sum(pauses.slice(0, index + 1)))
  expect(triesMs.find((ms) => ms > 1000)).toBeLessThanOrEqual(1000 * 1.25 + 250)
})

test.each([
  [5000, 6],
  [60_000, 6],
  [1000, 12],
])('a node that asks for %i ms is tried again %i times', async (asked, times) => {
  const pauses = await pausesAfter(refusal(asked))
  expect(pauses.length).toBe(times)
  for (const ms of pauses) expect(ms).toBeGreaterThanOrEqual(asked)
})
