/**
 * The rules of tasks that are read from their records: each life is one that contract §8 allows, a claim has its whole
 * lease, and a cancellation is asked for, kept, and confirmed by whoever could.
 *
 * The table here is written by hand and not the server's: else nobody would see that one is wrong.
 */
import type { AuditRecord, Rule, Run } from './history.ts'
import { effects, mayHave, type StoredTask } from './task-effects.ts'

/** Kind → the states that it may follow on → the states that it may leave behind. */
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

/** Every record follows on the one before, claims count up by one, and the last one is how the task stands. */
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

/** Contract §8: no claim ends early, by more than this. */
const earlyMs = 5000

/** A claim expires when nobody renewed it for its whole lease. */
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

/** After a cancellation was answered nobody gets the task any more, and it stays cancelled, or ends as its holder said. */
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

/** A confirmation that was answered is kept, and is the last holder's. */
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

/** Nothing is cancelled that nobody asked to cancel, and no stop is confirmed that nobody told of. */
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
