/** What clients did to tasks and what is stored of them, for the rules of tasks. Reliability §3.2. */
import type { Operation, Run } from './history.ts'

/** Done by whoever holds the claim, which is named. */
export const holderOps = ['task.renew', 'task.complete', 'task.fail', 'task.release', 'task.stopped'] as const
export const taskOps = ['task.create', 'task.claim', 'task.cancel', ...holderOps] as const
export type TaskOp = (typeof taskOps)[number]

/** A task as it stands when everything is over. Titles are the keys under which tasks were made. */
export interface StoredTask {
  readonly id: string
  readonly title: string
  readonly state: string
  readonly conversation_id: string
  /** Of the last claim. */
  readonly generation: number
  readonly result: string | null
  readonly claim_ttl_seconds: number
  readonly cancel_requested_at: string | null
  readonly stop_confirmed_at: string | null
}

/** One mutation, however often it was tried: done some time between its first try and its first answer. */
export interface Effect {
  readonly op: Operation['op']
  readonly client: string
  readonly key: string
  readonly task: string
  readonly generation: number
  readonly invoked: number
  readonly returned: number
  readonly answer: string
  /** Of the task, as it was answered. */
  readonly state: string
  /** Of the claim that was answered, if there was one. */
  readonly claimedIn: string | undefined
  /** In which it was tried. */
  readonly sessions: readonly (string | null)[]
}

interface Told {
  readonly id: string
  readonly state: string
  readonly claim: { readonly generation: number; readonly session_id: string } | null
}

/** What was answered with yes, by key. */
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

/** Whether somebody did one of these to a task, or may have. */
export const mayHave = ({ operations }: Run, ops: readonly TaskOp[], task: string): boolean =>
  operations.some(
    (each) => (ops as readonly string[]).includes(each.op) && each.task === task && each.outcome !== 'fail',
  )
