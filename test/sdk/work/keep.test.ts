/** `tasks.keep`: renewals of a claim with a clock that the pauses move, and what ends them. */
import { expect, test } from 'vitest'
import type { Task } from '../../../sdk/index.ts'
import { BridgeError, LocalError } from '../../../sdk/transport/failures.ts'
import { Tasks, type TasksOfBridge } from '../../../sdk/work/tasks.ts'
import { virtualTime } from '../../support/virtual-time.ts'

const held = {
  id: 't1',
  state: 'claimed',
  claim_ttl_seconds: 30,
  claim: { generation: 1, session_id: 's1', session_generation: 1 },
} as Task

const unreachable = new LocalError('unreachable', 'nobody is there')

const refusal = (code: 'claim_lost' | 'credential_revoked') =>
  new BridgeError({ method: 'POST', path: '/' }, 401, { error: code, message: code, request_id: 'r' })

interface Node {
  /** The answers to the renewals. Later ones get none. */
  readonly answers?: readonly (Task | Error)[]
  /** Answers a read of the task at this time. */
  readonly read?: (now: number) => Task | Error
  readonly signal?: AbortSignal
}

/** Keeps the claim of `task`, and returns the times of all renewals and reads, and of the end. */
async function kept({ answers, read, signal }: Node, task = held) {
  const { nowMs, sleep } = virtualTime()
  const renewals: number[] = []
  const reads: number[] = []
  const orThrow = (next: Task | Error): Task => {
    if (next instanceof Error) throw next
    return next
  }
  const renew = async (): Promise<Task> => {
    renewals.push(nowMs())
    const next = answers === undefined ? task : answers[renewals.length - 1]
    return orThrow(next ?? unreachable)
  }
  const get = async (): Promise<Task> => {
    reads.push(nowMs())
    return orThrow(read?.(nowMs()) ?? task)
  }
  const parts = {
    direct: { renew, get },
    keeper: { sessionId: 's1' },
    monotonicMs: nowMs,
    sleep,
    closing: new AbortController().signal,
  } as unknown as TasksOfBridge
  await new Tasks(renew as never, parts).keep(task, { signal })
  return { renewals, reads, ended: nowMs() }
}

const renewals = async (answers: readonly (Task | Error)[], signal?: AbortSignal): Promise<number[]> =>
  (await kept({ answers, ...(signal && { signal }) })).renewals

test('a claim is renewed after each third of its life, also while it is being cancelled, until it is refused', async () => {
  const cancelled = { ...held, state: 'cancel_requested' } as Task
  const answers = [held, held, cancelled, cancelled, refusal('credential_revoked')]
  expect(await renewals(answers)).toEqual([0, 10_000, 20_000, 30_000, 40_000])
})

test('an unreachable node ends it when the claim has expired, and an aborted signal at once', async () => {
  expect(await kept({ answers: [held, held] })).toMatchObject({ ended: 40_000 })
  expect(await renewals([held, held], AbortSignal.abort())).toEqual([0])
})

test('a refused first renewal is the refusal of the call', async () => {
  await expect(renewals([refusal('claim_lost')])).rejects.toMatchObject({ code: 'claim_lost' })
})

const long = { ...held, claim_ttl_seconds: 300 } as Task
const claimOf = (claim: object): Task => ({ ...long, claim: { ...long.claim, ...claim } }) as Task

test.each<[string, Task | Error]>([
  ['a revoked credential', refusal('credential_revoked')],
  ['a claim that is gone', { ...long, claim: null }],
  ['the claim of another worker', claimOf({ generation: 2 })],
  ['a replaced session', claimOf({ session_id: 's0' })],
])('%s ends it within 15 seconds', async (_, answer) => {
  const read = (now: number) => (now > 101_000 ? answer : long)
  expect(await kept({ read }, long)).toEqual({
    renewals: [0, 100_000],
    reads: [15_000, 30_000, 45_000, 60_000, 75_000, 90_000, 115_000],
    ended: 115_000,
  })
})

test('a read that fails for a while does not end it', async () => {
  const busy = new BridgeError({ method: 'GET', path: '/' }, 503, {
    error: 'unavailable',
    message: 'busy',
    request_id: 'r',
  })
  const failures = [unreachable, busy, new LocalError('timeout', 'no answer')]
  const read = (now: number) =>
    now > 200_000 ? refusal('claim_lost') : (failures[(now / 5_000) % 3] ?? busy)
  expect(await kept({ read }, long)).toMatchObject({ renewals: [0, 100_000, 200_000], ended: 215_000 })
})
