/**
 * The rules of tasks for the history checker: one holder a generation, one outcome, nothing by a claim that was lost,
 * and a task and its message both or neither.
 *
 * Reliability §3.2 items 4 and 7.
 */
import type { Operation, Rule, Run } from './history.ts'

export const taskOps = [
  'task.create',
  'task.claim',
  'task.complete',
  'task.fail',
  'task.release',
  'task.cancel',
] as const
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
}

/** One mutation, however often it was tried: done some time between its first try and its first answer. */
interface Effect {
  readonly op: Operation['op']
  readonly client: string
  readonly key: string
  readonly task: string
  readonly generation: number
  readonly invoked: number
  readonly returned: number
  readonly answer: string
}

/** What was answered with yes, by key. */
function effects({ operations }: Run, ops: readonly TaskOp[]): Effect[] {
  const tried = operations.filter(({ op, key }) => key !== null && (ops as readonly string[]).includes(op))
  return [...Map.groupBy(tried, ({ client, op, key }) => `${client} ${op} ${key}`).values()].flatMap(
    (tries) => {
      const answered = tries.filter(({ outcome }) => outcome === 'ok')
      const [first] = answered
      if (first === undefined) return []
      const told = JSON.parse(first.answer) as { id: string; claim: { generation: number } | null }
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
        },
      ]
    },
  )
}

/** At most one claim was granted in each generation of a task. */
export function claimsHaveOneHolder(run: Run): string[] {
  const claims = effects(run, ['task.claim'])
  return [...Map.groupBy(claims, ({ task, generation }) => `${task} ${generation}`)]
    .filter(([, holders]) => holders.length > 1)
    .map(([name, holders]) => `claim ${name} was granted to ${holders.map(({ key }) => key).join(' and ')}`)
}

/** A claim that was granted after another has the greater generation. */
export function claimGenerationsRise(run: Run): string[] {
  const claims = effects(run, ['task.claim'])
  return claims.flatMap((later) =>
    claims
      .filter(({ task, returned, generation }) => {
        return task === later.task && returned < later.invoked && generation >= later.generation
      })
      .map(({ generation }) => `${later.task} was claimed as ${generation} and later as ${later.generation}`),
  )
}

/** Nothing of a holder succeeds when a later claim had been granted before it was asked for. */
export function lostClaimsDoNothing(run: Run): string[] {
  const claims = effects(run, ['task.claim'])
  return effects(run, ['task.complete', 'task.fail', 'task.release']).flatMap((done) =>
    claims
      .filter(({ task, generation, returned }) => {
        return task === done.task && generation > done.generation && returned < done.invoked
      })
      .map(
        ({ generation }) =>
          `${done.op} of ${done.task} by claim ${done.generation} succeeded after claim ${generation}`,
      ),
  )
}

/** A task ends once, by the last claim that it had, and as it was answered. */
export function outcomesAreSetOnce(run: Run): string[] {
  const ends = Map.groupBy(effects(run, ['task.complete', 'task.fail']), ({ task }) => task)
  const stored = new Map((run.tasks ?? []).map((task) => [task.id, task]))
  return [...ends].flatMap(([id, all]) => {
    const [end, ...more] = all
    const task = stored.get(id)
    if (end === undefined || task === undefined) return [`${id} ended and is not stored`]
    if (more.length > 0) return [`${id} ended ${all.length} times`]
    const state = end.op === 'task.complete' ? 'completed' : 'failed'
    if (task.state !== state || task.result !== end.key)
      return [`${id} was ${state} by ${end.key} and is ${task.state}`]
    return task.generation === end.generation
      ? []
      : [`${id} was ended by claim ${end.generation}, its last is ${task.generation}`]
  })
}

/** Each creation that was answered is stored once, each that may have arrived at most once, each refused never. */
export function tasksAreStoredOnce({ operations, tasks = [] }: Run): string[] {
  const creates = operations.filter(({ op }) => op === 'task.create')
  const byTitle = Map.groupBy(tasks, ({ title }) => title)
  return [...Map.groupBy(creates, ({ key }) => String(key))].flatMap(([key, tries]) => {
    const found = byTitle.get(key) ?? []
    const told = tries.find(({ outcome }) => outcome === 'ok')
    if (told === undefined) {
      const allowed = tries.some(({ outcome }) => outcome === 'info') ? 1 : 0
      return found.length > allowed ? [`${key} was not accepted and is stored ${found.length} times`] : []
    }
    const { id } = JSON.parse(told.answer) as { id: string }
    if (found.length === 1 && found[0]?.id === id) return []
    return [`${key} was answered as ${id}; stored are ${found.map((task) => task.id).join(', ') || 'none'}`]
  })
}

/** A task exists exactly when the message that tells of it does. */
export function tasksAndMessagesAreThereTogether({ tasks = [], conversations }: Run): string[] {
  const told = [...conversations.values()].flat().filter(({ type, body }) => {
    return type === 'task' && body.startsWith('new task')
  })
  const byTask = Map.groupBy(told, ({ task_id }) => String(task_id))
  const known = new Set(tasks.map(({ id }) => id))
  return [
    ...tasks
      .filter(({ id }) => byTask.get(id)?.length !== 1)
      .map(({ id }) => `${id} is told of by ${byTask.get(id)?.length ?? 0} messages`),
    ...[...byTask.keys()]
      .filter((id) => !known.has(id))
      .map((id) => `a message tells of ${id}, which is not there`),
  ]
}

const kinds: Record<TaskOp, string> = {
  'task.create': 'task.created',
  'task.claim': 'task.claimed',
  'task.complete': 'task.completed',
  'task.fail': 'task.failed',
  'task.release': 'task.released',
  'task.cancel': 'task.cancelled',
}

/** Each change that was answered has its record, and no record is of a change that nobody asked for. */
export function taskChangesAreAudited(run: Run): string[] {
  const recorded = Map.groupBy(run.audit, ({ kind, subject_id }) => `${kind} ${subject_id}`)
  const ops = taskOps.filter((op) => op !== 'task.cancel')
  const answered = effects(run, ops).map(({ op, task }) => `${kinds[op as TaskOp]} ${task}`)
  const counted = Map.groupBy(answered, (name) => name)
  const open = run.operations.filter(({ op, outcome }) => outcome === 'info' && op.startsWith('task.')).length
  return [...counted].flatMap(([name, all]) => {
    const records = recorded.get(name)?.length ?? 0
    if (records < all.length) return [`${name} was done ${all.length} times and is recorded ${records} times`]
    return open === 0 && records > all.length
      ? [`${name} is recorded ${records} times for ${all.length}`]
      : []
  })
}

export const taskRules: readonly Rule[] = [
  claimsHaveOneHolder,
  claimGenerationsRise,
  lostClaimsDoNothing,
  outcomesAreSetOnce,
  tasksAreStoredOnce,
  tasksAndMessagesAreThereTogether,
  taskChangesAreAudited,
]
