/** A time limit does not end work whose result arrived while the process stood still. */
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { runningTime } from '../../sdk/parts/running-time.ts'

const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

test('what arrived while the process stood still comes before the end of the time', async () => {
  const { signal } = new AbortController()
  const read = readFile(import.meta.filename).then(() => 'read')
  const first = Promise.race([read, runningTime(1000, signal).then(() => 'late')])
  standStill(1500)
  expect(await first).toBe('read')
})

test('the time passes, and an abort ends it', async () => {
  const stop = new AbortController()
  const began = performance.now()
  await runningTime(150, stop.signal)
  expect(performance.now() - began).toBeGreaterThanOrEqual(149)
  const ended = runningTime(3_600_000, stop.signal)
  stop.abort(new Error('enough'))
  await expect(ended).rejects.toThrow()
})
