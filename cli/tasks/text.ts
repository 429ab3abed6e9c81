/**
 * Formats a task as a row of a list, or in full with its timeline.
 *
 * Texts of creator and assignee are data. Titles stay on one line, and instructions, results and reasons are
 * fenced.
 *
 * Contract §8, §12.
 */
import type { Evidence, Task, TaskEntry } from '../../sdk/index.ts'
import { fenced, oneLine } from '../../sdk/plain-text.ts'
import { expiryWords, relative } from '../terminal/words.ts'

export const taskHeader = ['id', 'state', 'from', 'to', 'age', 'title'] as const

export function taskRow(task: Task, nameOf: (agentId: string) => string, now: Date): string[] {
  const from = task.creator.kind === 'owner' ? 'owner' : task.creator.name
  const age = relative(task.created_at, now)
  return [task.id, stateWords(task, now), from, nameOf(task.assignee_agent_id), age, task.title]
}

/** The state, with the end of the claim or the attempts used. */
export function stateWords({ state, claim, attempts, max_attempts }: Task, now: Date): string {
  if (claim !== null) return `${state}, claim ${expiryWords(claim.expires_at, now)}`
  if (state === 'open' && attempts > 0) return `open, ${attempts} of ${max_attempts} attempts used`
  return state
}

export function taskText(task: Task, nameOf: (agentId: string) => string, now: Date): string {
  const { creator, due_at: due, outcome } = task
  const lines = [
    `task ${task.id}: ${oneLine(task.title)}`,
    `state: ${stateWords(task, now)}`,
    `from ${creator.kind} ${oneLine(creator.name)} to ${oneLine(nameOf(task.assignee_agent_id))}, ${relative(task.created_at, now)}`,
    `attempts: ${task.attempts} of ${task.max_attempts}`,
  ]
  if (due !== null) lines.push(`due ${due}, ${relative(due, now)}`)
  if (task.claim !== null) {
    const { generation, claimed_at, expires_at } = task.claim
    lines.push(
      `claim: generation ${generation}, taken ${relative(claimed_at, now)}, ${expiryWords(expires_at, now)}`,
    )
  }
  lines.push(
    'instructions:',
    fenced(task.instructions),
    ...progressLines(task, now),
    ...cancelLines(task, now),
  )
  if (outcome !== null) {
    lines.push(`outcome: ${outcome.kind}, ${relative(outcome.reported_at, now)}`)
    if (outcome.result !== null) lines.push(fenced(outcome.result))
    lines.push(...outcome.evidence.map(evidenceLine))
  }
  return lines.join('\n')
}

function progressLines({ progress }: Task, now: Date): string[] {
  if (progress === null) return []
  const percent = progress.percent === null ? '' : ` ${progress.percent} %,`
  const note = progress.note === null ? [] : [fenced(progress.note)]
  return [`progress:${percent} ${relative(progress.reported_at, now)}`, ...note]
}

function cancelLines({ cancellation }: Task, now: Date): string[] {
  if (cancellation === null) return []
  const { requested_by: by, requested_at, reason, stop_confirmed_at: stopped } = cancellation
  return [
    `cancellation: by ${by.kind} ${oneLine(by.name)}, ${relative(requested_at, now)}`,
    ...(reason === null ? [] : [fenced(reason)]),
    stopped === null ? 'the stop is not confirmed' : `the stop was confirmed ${relative(stopped, now)}`,
  ]
}

function evidenceLine({ kind, value, label, sha256, exit_code }: Evidence): string {
  const more = [
    ...(label === undefined ? [] : [oneLine(label)]),
    ...(exit_code === undefined ? [] : [`exit code ${exit_code}`]),
    ...(sha256 === undefined ? [] : [`sha256 ${sha256}`]),
  ]
  return `evidence: ${kind} ${oneLine(value)}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

/** Formats one line per entry. Consecutive renewals of a claim share one line. */
export function timelineText(entries: readonly TaskEntry[]): string {
  const runs: { entry: TaskEntry; count: number }[] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    const isSame = entry.event === 'renewed' && last?.entry.event === 'renewed'
    if (isSame && last.entry.claim_generation === entry.claim_generation) {
      runs.splice(-1, 1, { entry, count: last.count + 1 })
    } else runs.push({ entry, count: 1 })
  }
  return ['timeline:', ...runs.map(({ entry, count }) => `  ${entryLine(entry, count)}`)].join('\n')
}

function entryLine(entry: TaskEntry, count: number): string {
  const { at, event, actor, state, claim_generation: claim, reason, percent } = entry
  const by = actor.kind === 'system' ? 'the service' : `${actor.kind} ${oneLine(actor.name)}`
  const more = [
    ...(claim === null ? [] : [`claim ${claim}`]),
    ...(percent === null ? [] : [`${percent} %`]),
    ...(count === 1 ? [] : [`${count} times`]),
    `then ${state}`,
  ]
  const why = reason === null ? '' : ` | ${oneLine(reason)}`
  return `${at} ${event} by ${by} (${more.join(', ')})${why}`
}
