/**
 * The rules of tasks that are checked on their audit records. Each life is permitted by contract §8, and a
 * claim has its full lease. A cancellation is requested, kept, and confirmed by an agent that may do so.
 *
 * The table here is written by hand and not taken from the server, so that an error in the server's table is
 * found.
 */
import type { AuditRecord, Rule, Run } from './history.ts'
import { effects, mayHave, type StoredTask } from './task-effects.ts'

/** A map from kind to the states before it, and from each to the states after it. */
const lives: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'task.created': { '': ['open'] },
  'task.claimed': { open: ['claimed'] },
  'task.renewed': { claimed: ['claimed'], cancel_requested: ['cancel_requested'] },
  'task.progressed': { claimed: ['claimed'], cancel_requested: ['cancel_requested'] },
  'task.completed': { claimed: ['completed'], cancel_requested: ['completed'] },
  'task.failed': { claimed: ['failed'], cancel_requested: ['failed'] },
  'task.released': { claimed: ['open', 'failed'], cancel_requested: ['cancelled'] },
  'task.expired': { claimed: ['open', 'failed'], cancel_requested: ['cancelled'] },
  'task.declined': { open: ['declined'] },
  'task.cancelled': { open: ['cancelled'] },
  'task.cancel_requested': { claimed: ['cancel_requested'], cancel_requested: ['cancel_requested'] },
  'task.stopped': { cancel_requested: ['cancelled'], cancelled: ['cancelled'] },
}

const recordsOf = ({ audit }: Run): Map<string, AuditRecord[]> =>
  Map.groupBy(
    audit.filter(({ kind }) => kind.startsWith('task.')),
    ({ subject_id }) => String(subject_id),
  )

/**
 * Every record continues the previous one, claims are counted up by one, and the last record matches the
 * task.
 */
export function livesFollowTheTable(run: Run): string[] {
  const stored = new Map((run.tasks ?? []).map((task) => [task.id, task]))
  return [...recordsOf(run)].flatMap(([id, records]) => {
    let [state, generation] = ['', 0]
    for (const { kind, details } of records) {
      const next = details.state ?? ''
      if (lives[kind]?.[state]?.includes(next) !== true)
        return [`${id} was ${state || 'nothing'}, then ${kind} left it ${next}`]
      generation += kind === 'task.claimed' ? 1 : 0
      if (details.claim_generation !== generation)
        return [`${kind} of ${id} names claim ${details.claim_generation} instead of ${generation}`]
      state = next
    }
    const task = stored.get(id)
    return task === undefined || task.state === state
      ? []
      : [`${id} is ${task.state}, its last record says ${state}`]
  })
}

/** Contract §8: no claim ends earlier than this many milliseconds before its time. */
const earlyMs = 5000

/** A claim expires only if it was not renewed for its full lease. */
export function claimsHaveTheirLease(run: Run): string[] {
  const records = recordsOf(run)
  return (run.tasks ?? []).flatMap(({ id, claim_ttl_seconds }) => {
    let keptAt = Number.NaN
    return (records.get(id) ?? []).flatMap(({ kind, at = '' }) => {
      if (kind === 'task.claimed' || kind === 'task.renewed') keptAt = Date.parse(at)
      const leaseMs = Date.parse(at) - keptAt
      if (kind !== 'task.expired' || !(leaseMs < claim_ttl_seconds * 1000 - earlyMs)) return []
      return [`a claim of ${id} expired after ${leaseMs} ms of ${claim_ttl_seconds} s`]
    })
  })
}

const requested: ReadonlySet<string> = new Set(['cancel_requested', 'completed', 'failed', 'cancelled'])

/**
 * After a cancellation was answered no agent gets the task, and it stays cancelled or ends as its holder
 * reports.
 */
export function cancellationsAreKept(run: Run): string[] {
  const claims = effects(run, ['task.claim'])
  const stored = new Map((run.tasks ?? []).map((task) => [task.id, task]))
  return effects(run, ['task.cancel']).flatMap(({ task: id, state, returned }) => {
    const task = stored.get(id)
    const later = claims.filter(({ task: claimed, invoked }) => claimed === id && invoked > returned)
    const isKept = state === 'cancelled' ? task?.state === state : requested.has(task?.state ?? '')
    return [
      ...(isKept && task?.cancel_requested_at ? [] : [`${id} was ${state} and is ${task?.state}`]),
      ...later.map(({ generation }) => `${id} was ${state}, and claim ${generation} was granted after that`),
    ]
  })
}

/** An answered confirmation is kept and comes from the last holder. */
export function stopsAreKept(run: Run): string[] {
  const stored = new Map((run.tasks ?? []).map((task) => [task.id, task]))
  return effects(run, ['task.stopped']).flatMap(({ task: id, generation }) => {
    const task = stored.get(id)
    if (task?.state !== 'cancelled' || task.stop_confirmed_at === null)
      return [`${id} was told to have stopped, and is ${task?.state} without a confirmation`]
    return task.generation === generation
      ? []
      : [`${id} was told to have stopped by claim ${generation}, its last is ${task.generation}`]
  })
}

/** A task is cancelled only on request, and a stop is confirmed only if it was requested. */
export function nobodyIsStoppedUnasked(run: Run): string[] {
  const wronged = ({ id, state, cancel_requested_at, stop_confirmed_at }: StoredTask): string[] => {
    const isCancelled = cancel_requested_at !== null || state === 'cancelled'
    const asked = mayHave(run, ['task.cancel'], id)
    const told = mayHave(run, ['task.stopped', 'task.release'], id)
    return [
      ...(isCancelled && !asked ? [`${id} is cancelled, and nobody asked for it`] : []),
      ...(stop_confirmed_at !== null && !told ? [`${id} has stopped, and nobody told so`] : []),
    ]
  }
  return (run.tasks ?? []).flatMap(wronged)
}

export const taskLifeRules: readonly Rule[] = [
  livesFollowTheTable,
  claimsHaveTheirLease,
  cancellationsAreKept,
  stopsAreKept,
  nobodyIsStoppedUnasked,
]
