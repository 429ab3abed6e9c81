/**
 * A worker whose claim was stored and never answered, against a real server behind a proxy that cuts the answer and
 * every further attempt of the same request.
 */
import { expect, onTestFinished, test } from 'vitest'
import { startBridge } from '../../support/bridge.ts'
import { openWire, type Wire } from '../../support/cut-proxy.ts'
import { bridgeOf } from '../../support/sdk-listener.ts'
import { createTask, getTask, timelineOf } from '../../support/tasks.ts'

const claiming = 'POST /api/v1/tasks/{id}/claim #1'
const attempts = 4

/** Cuts the first answer and the other attempts of the client. Calls `then` at the last cut. */
function cutClaims(wire: Wire, then: () => void): void {
  const cut = (left: number): void => {
    const act = async () => {
      if (left > 1) cut(left - 1)
      else then()
    }
    void wire.arm({ step: claiming, moment: left === attempts ? 'answered' : 'asked', act })
  }
  cut(attempts)
}

/** Works on one task, whose claim gets no answer for so many seconds. Returns the timeline of the task. */
async function worked(
  awaySeconds: number,
  maxAttempts: number,
): Promise<{ begun: number; events: string[] }> {
  const bridge = await startBridge()
  const wire = await openWire(() => Number(new URL(bridge.url).port))
  let nowMs = 0
  bridge.clock.hold()
  const client = bridgeOf({ ...bridge.ben, baseUrl: wire.url } as typeof bridge.ben, {
    monotonicMs: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        // A renewal is a third of a lease away: it never comes.
        if (ms < 5_000) setTimeout(resolve, Math.min(ms, 20))
        signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
      }),
  })
  onTestFinished(async () => {
    await client.close()
    await wire.close()
    await bridge.close()
  })
  const { id } = await createTask(bridge.ada, bridge.ben, {
    claim_ttl_seconds: 30,
    max_attempts: maxAttempts,
  })
  cutClaims(wire, () => {
    bridge.clock.advance(awaySeconds)
    nowMs += awaySeconds * 1000
  })
  let begun = 0
  const working = client.tasks.work(
    async () => {
      begun += 1
      return { result: 'done', evidence: [{ kind: 'text', value: 'seen' }] }
    },
    { limit: 1 },
  )
  const state = async () => (await getTask(bridge.ada, id)).state
  await expect.poll(state).toBe('completed')
  expect(await working).toEqual({ claimed: 1 })
  return { begun, events: await timelineOf(bridge.ada, id) }
}

test('a claim without an answer is asked again with its key, and its task is done', async () => {
  expect(await worked(0, 1)).toEqual({ begun: 1, events: ['created', 'claimed', 'completed'] })
})

test('a claim that is answered late is renewed before its work starts', async () => {
  expect(await worked(20, 1)).toEqual({ begun: 1, events: ['created', 'claimed', 'renewed', 'completed'] })
})

test('no work starts for a claim that expired before it was answered', async () => {
  const events = ['created', 'claimed', 'expired', 'claimed', 'completed']
  expect(await worked(31, 2)).toEqual({ begun: 1, events })
})
