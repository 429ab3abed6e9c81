/** `tasks.keep`: renewals of a claim with a clock that the pauses move, and what ends them. */
import { expect, test } from 'vitest'
import type { Task } from '../../../sdk/index.ts'
import { Tasks, type TasksOfBridge } from '../../../sdk/resources/tasks.ts'
import { BridgeError, LocalError } from '../../../sdk/transport/failures.ts'

const held = {
  id: 't1',
  state: 'claimed',
  claim_ttl_seconds: 30,
  claim: { generation: 1, session_generation: 1 },
} as Task

const refusal = (code: 'claim_lost' | 'credential_revoked') =>
  new BridgeError({ method: 'POST', path: '/' }, 401, { error: code, message: code, request_id: 'r' })

/** Keeps the claim with these answers of the node, and returns the times of all renewals. */
async function renewals(answers: readonly (Task | Error)[], signal?: AbortSignal): Promise<number[]> {
  let now = 0
  const times: number[] = []
  const answer = async (): Promise<Task> => {
    times.push(now)
    const next = answers[times.length - 1] ?? new LocalError('unreachable', 'nobody is there')
    if (next instanceof Error) throw next
    return next
  }
  const parts = {
    direct: { renew: answer },
    monotonicMs: () => now,
    sleep: async (ms: number) => {
      now += ms
    },
    closing: new AbortController().signal,
  } as unknown as TasksOfBridge
  await new Tasks(answer as never, parts).keep(held, { signal })
  return times
}

test('a claim is renewed after each third of its life, also while it is being cancelled, until it is refused', async () => {
  const cancelled = { ...held, state: 'cancel_requested' } as Task
  const answers = [held, held, cancelled, cancelled, refusal('credential_revoked')]
  expect(await renewals(answers)).toEqual([0, 10_000, 20_000, 30_000, 40_000])
})

test('an unreachable node ends it when the claim has expired, and an aborted signal at once', async () => {
  expect((await renewals([held, held])).at(-1)).toBe(40_000)
  expect(await renewals([held, held], AbortSignal.abort())).toEqual([0])
})

test('a refused first renewal is the refusal of the call', async () => {
  await expect(renewals([refusal('claim_lost')])).rejects.toMatchObject({ code: 'claim_lost' })
})
