/** `tasks.keep` against a real server, with the clocks of both sides moved by the pauses between its requests. */
import { expect, onTestFinished, test } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { bridgeOf } from '../../support/sdk-listener.ts'
import { createTask, getTask } from '../../support/tasks.ts'

test('a claim that is shorter than its task is renewed before its own end', async () => {
  const bridge = await startBridge()
  let nowMs = 0
  bridge.clock.hold()
  const pauses: { readonly ms: number; readonly end: () => void }[] = []
  const client = bridgeOf(bridge.ben, {
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        // A longer pause is the wait for the end of the claim, which does not come.
        if (ms <= 15_000) pauses.push({ ms, end: resolve })
        signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
      }),
  })
  const stop = new AbortController()
  onTestFinished(async () => {
    stop.abort()
    await client.close()
    await bridge.close()
  })
  const { id } = await createTask(bridge.ada, bridge.ben, { claim_ttl_seconds: 1800 })
  const claimed = await client.tasks.claim(id, { claimTtlSeconds: 60 })
  let isOver = false
  const keeping = client.tasks.keep(claimed, { signal: stop.signal }).finally(() => {
    isOver = true
  })
  while (nowMs < 130_000 && !isOver) {
    await expect.poll(() => pauses.length > 0 || isOver).toBe(true)
    const { ms, end } = pauses.shift() ?? { ms: 0, end: () => {} }
    bridge.clock.advance(ms / 1000)
    nowMs += ms
    end()
  }
  expect(await getTask(bridge.ada, id)).toMatchObject({ state: 'claimed', claim: { generation: 1 } })
  stop.abort()
  await keeping
})
