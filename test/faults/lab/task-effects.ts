/** The clients' operations on tasks and the stored tasks, for the rules of tasks. Reliability §3.2. */
import type { Operation, Run } from './history.ts'

/** Operations of a claim's holder, which name the claim. */
export const holderOps = ['task.renew', 'task.complete', 'task.fail', 'task.release', 'task.stopped'] as const
export const taskOps = ['task.create', 'task.claim', 'task.cancel', ...holderOps] as const
export type TaskOp = (typeof taskOps)[number]

/** A task at the end of the run. Titles are the keys with which tasks were created. */
export interface StoredTask {
  readonly id: string
  readonly title: string
  readonly state: string
  readonly conversation_id: string
  /** The generation of the last claim. */
  readonly generation: number
  readonly result: string | null
  readonly claim_ttl_seconds: number
  readonly cancel_requested_at: string | null
  readonly stop_confirmed_at: string | null
}

/**
 * One mutation, however often it was attempted: it took effect between its first attempt and its first
 * answer.
 */
export interface Effect {
  readonly op: Operation['op']
  readonly client: string
  readonly key: string
  readonly task: string
  readonly generation: number
  readonly invoked: number
  readonly returned: number
  readonly answer: string
  /** The state of the task in the answer. */
  readonly state: string
  /** The session of the claim in the answer, if there was one. */
  readonly claimedIn: string | undefined
  /** The sessions of its attempts. */
  readonly sessions: readonly (string | null)[]
}

interface Told {
  readonly id: string
  readonly state: string
  readonly claim: { readonly generation: number; readonly session_id: string } | null
}

/** Returns the successful mutations, one per key. */
export function effects({ operations }: Run, ops: readonly TaskOp[]): Effect[] {
  const tried = operations.filter(({ op, key }) => key !== null && (ops as readonly string[]).includes(op))
  return [...Map.groupBy(tried, ({ client, op, key }) => `${client} ${op} ${key}`).values()].flatMap(
    (tries) => {
      const answered = tries.filter(({ outcome }) => outcome === 'ok')
      const [first] = answered
      if (first === undefined) return []
      const told = JSON.parse(first.answer) as Told
      return [
        {
          op: first.op,
          client: first.client,
          key: first.key ?? '',
          task: told.id,
          generation: first.generation ?? told.claim?.generation ?? 0,
          invoked: Math.min(...tries.map(({ invoked }) => invoked)),
          returned: Math.min(...answered.map(({ returned }) => returned)),
          answer: first.answer,
          state: told.state,
          claimedIn: told.claim?.session_id,
          sessions: tries.map(({ session }) => session),
        },
      ]
    },
  )
}

/** Whether one of these operations was performed on a task, or may have been. */
export const mayHave = ({ operations }: Run, ops: readonly TaskOp[], task: string): boolean =>
  operations.some(
    (each) => (ops as readonly string[]).includes(each.op) && each.task === task && each.outcome !== 'fail',
  )
