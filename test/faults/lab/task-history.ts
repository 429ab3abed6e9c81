/**
 * The rules of tasks for the history checker: one holder per generation, one outcome, no effect by a lost
 * claim, and a task and its message are stored both or neither. For cancellation, stop and expiry see
 * `task-lives.ts`.
 *
 * Reliability §3.2 items 4 and 7.
 */
import type { Rule, Run } from './history.ts'
import { effects, holderOps, type TaskOp, taskOps } from './task-effects.ts'
import { taskLifeRules } from './task-lives.ts'

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

/** No operation of a holder succeeds if a later claim was granted before it was sent. */
export function lostClaimsDoNothing(run: Run): string[] {
  const claims = effects(run, ['task.claim'])
  return effects(run, holderOps).flatMap((done) =>
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

/**
 * A holder's operation succeeds only in the session of its claim, except that any session may confirm a stop.
 */
export function claimsStayInTheirSession(run: Run): string[] {
  const claims = new Map(
    effects(run, ['task.claim']).map(({ task, generation, claimedIn }) => [
      `${task} ${generation}`,
      claimedIn,
    ]),
  )
  return effects(run, holderOps)
    .filter(({ op }) => op !== 'task.stopped')
    .flatMap(({ op, task, generation, sessions }) => {
      const claimedIn = claims.get(`${task} ${generation}`)
      if (claimedIn === undefined || sessions.includes(claimedIn)) return []
      return [`${op} of ${task} by claim ${generation} succeeded in another session`]
    })
}

/** A task ends once, by its last claim and with the answered state. */
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

/** Each answered creation is stored once, each unanswered one at most once, each refused one never. */
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

/** A task exists exactly if the message about it does. */
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
  'task.renew': 'task.renewed',
  'task.complete': 'task.completed',
  'task.fail': 'task.failed',
  'task.release': 'task.released',
  'task.stopped': 'task.stopped',
  'task.cancel': 'task.cancel_requested',
}

/** Cancelling an open task takes effect immediately. */
const kindOf = (op: TaskOp, state: string): string =>
  op === 'task.cancel' && state === 'cancelled' ? 'task.cancelled' : kinds[op]

/** Each answered change has its record, and each record belongs to a requested change. */
export function taskChangesAreAudited(run: Run): string[] {
  const recorded = Map.groupBy(run.audit, ({ kind, subject_id }) => `${kind} ${subject_id}`)
  const answered = effects(run, taskOps).map(
    ({ op, state, task }) => `${kindOf(op as TaskOp, state)} ${task}`,
  )
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
  claimsStayInTheirSession,
  outcomesAreSetOnce,
  tasksAreStoredOnce,
  tasksAndMessagesAreThereTogether,
  taskChangesAreAudited,
  ...taskLifeRules,
]
