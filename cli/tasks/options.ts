/** Options and output that the `task` commands share. */
import type { Task, TaskInput } from '../../sdk/index.ts'
import { type Command, invalid, seconds, wholeNumber } from '../command.ts'
import type { CliContext } from '../context.ts'
import { idempotencyKey, instantOf, type ReplyBy, replyBy } from '../messages/sending.ts'
import type { First } from '../profile/first-use.ts'
import { taskText } from './text.ts'

/** States of the contract, repeated here because only commands that run load the SDK. */
export const taskStates = [
  'open',
  'claimed',
  'cancel_requested',
  'completed',
  'failed',
  'declined',
  'cancelled',
] as const

export const exampleTask = '01980000-0000-7000-8000-000000000001'

export interface KeyOption {
  readonly key?: string
}

export const withKey = (to: Command): Command =>
  to.option('--key <key>', 'idempotency key, to retry safely', idempotencyKey)

/** Parses the id of a process. Process 1 never ends, and Linux has ids of at most 22 bits. */
export const processId = wholeNumber(2, 2 ** 22)

export interface ReasonOption extends KeyOption {
  readonly reason?: string
}

export interface NewTaskOptions extends KeyOption {
  readonly due?: ReplyBy
  readonly claimTtl?: number
  readonly maxAttempts?: number
}

const ttl = (text: string): number => {
  const value = seconds(text)
  if (value >= 30 && value <= 3600) return value
  throw invalid('It must be from 30s to 1h.')
}

/** Limits of the contract, repeated here because only commands that run load the SDK. */
const claimLifetimes = '(default 30m; at most 5m for task run and task claim --keep, which renew it)'

export const withNewTask = (to: Command): Command =>
  withKey(to)
    .option('--due <when>', 'when the task is due: a duration like 2h, or a timestamp', replyBy)
    .option('--claim-ttl <duration>', `how long a claim lasts without renewal ${claimLifetimes}`, ttl)
    .option(
      '--max-attempts <count>',
      'how many attempts the task gets before it fails (default 3)',
      wholeNumber(1, 20),
    )

/** Returns the task fields that the options set. */
export const newTaskFields = async (
  { due, claimTtl, maxAttempts }: NewTaskOptions,
  now: () => Date,
  first: First,
): Promise<Pick<TaskInput, 'due_at' | 'claim_ttl_seconds' | 'max_attempts'>> => ({
  ...(due === undefined ? {} : { due_at: await instantOf(due, now, first) }),
  ...(claimTtl === undefined ? {} : { claim_ttl_seconds: claimTtl }),
  ...(maxAttempts === undefined ? {} : { max_attempts: maxAttempts }),
})

/**
 * Names of the peers that this profile knows. If a text shows one of `agentIds` and the profile does not know it,
 * the peers are read once from the node. A peer that is still unknown, or unreadable, has its id as name.
 */
export async function peerNames(
  context: CliContext,
  agentIds: readonly string[] = [],
): Promise<(agentId: string) => string> {
  const { bridge, profile } = await context.agent()
  const { agent } = profile.identity
  const { directory } = bridge
  let known = await directory.rememberedNames()
  const isUnknown = (id: string) => id !== agent.id && !known.has(id)
  if (!context.output.json && agentIds.some(isUnknown)) {
    await directory.peers({ signal: context.signal }).catch(() => [])
    known = await directory.rememberedNames()
  }
  return (agentId) => (agentId === agent.id ? agent.name : (known.get(agentId) ?? agentId))
}

/** Prints a changed task: one line for a person, the task object for a program. */
export function printTask({ output }: CliContext, task: Task, what: string): void {
  const claim = task.claim === null ? '' : `; claim ${task.claim.generation} until ${task.claim.expires_at}`
  output.result(task, `${what} ${task.id}: ${task.state}${claim}`)
  noteCancellation(output, task)
}

/** Tells the holder of a task to stop if its cancellation is requested. */
export function noteCancellation(output: CliContext['output'], { id, state }: Task): void {
  if (state !== 'cancel_requested') return
  output.next(`the task is being cancelled: stop the work, then run bridge task stopped ${id}`)
}

/** Prints the whole task. */
export async function showTask(context: CliContext, task: Task): Promise<void> {
  context.output.result(task, taskText(task, await peerNames(context), context.clock()))
}
