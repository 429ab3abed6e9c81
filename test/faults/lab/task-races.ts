/**
 * Operations of a holder at the moment when it loses its claim: the lease expires, a new session takes over,
 * or the task is cancelled. Every operation is recorded for the history checker.
 *
 * Contract §8 "claim_lost, whoever holds the claim now"; reliability §3.1 F22, F25.
 */

import type { Task } from '../../../sdk/contract/agent/tasks.ts'
import type { ErrorCode } from '../../../sdk/contract/errors.ts'
import { TestAgent } from '../../support/agent.ts'
import type { TestBridge } from '../../support/bridge.ts'
import type { Chance } from '../../support/chance.ts'
import type { Reply } from '../../support/http.ts'
import { Claimers } from './claims.ts'
import { holderOps, type TaskOp } from './task-effects.ts'

export interface Race {
  readonly bridge: TestBridge
  readonly crew: Claimers
  readonly chance: Chance
  readonly creator: TestAgent
  /** The current holder of the claims; a takeover changes it. */
  holder: TestAgent
}

export interface Asked {
  readonly op: TaskOp
  readonly reply: Reply
}

/** An event that races with the holder. */
export interface Rival {
  readonly what: string
  /** The refusals that a holder may get; any other one is a fault. */
  readonly holderHears: readonly ErrorCode[]
  readonly strike: (race: Race, tasks: readonly Task[]) => Promise<Asked[]>
}

const beyondLeaseSeconds = 31

const cancelled = async (replies: readonly Promise<Reply>[]): Promise<Asked[]> =>
  (await Promise.all(replies)).map((reply) => ({ op: 'task.cancel', reply }))

const claimed = async ({ crew }: Race, by: TestAgent, tasks: readonly Task[]): Promise<Asked[]> =>
  Promise.all(tasks.map(async ({ id }) => ({ op: 'task.claim', reply: await crew.claim(by, id) }) as const))

export const rivals: readonly Rival[] = [
  {
    what: 'the end of its lease',
    holderHears: ['claim_lost', 'state_conflict'],
    strike: async (race, tasks) => {
      race.bridge.clock.advance(beyondLeaseSeconds)
      return claimed(race, race.holder, tasks)
    },
  },
  {
    what: 'a takeover',
    holderHears: ['claim_lost', 'state_conflict', 'session_fenced'],
    strike: async (race, tasks) => {
      const { bridge, holder } = race
      const { grant } = await bridge.owner.takeover(bridge.project.id, holder.id)
      const next = new TestAgent(bridge.url, holder.keys, holder.enrolled, bridge.clock)
      await next.startSession(crypto.randomUUID(), { takeover_grant: grant })
      race.holder = next
      const early = await claimed(race, next, tasks)
      bridge.clock.advance(beyondLeaseSeconds)
      return [...early, ...(await claimed(race, next, tasks))]
    },
  },
  {
    what: 'a cancellation by its creator',
    holderHears: ['claim_lost', 'state_conflict'],
    strike: ({ crew, creator }, tasks) => cancelled(tasks.map(({ id }) => crew.cancel(creator, id))),
  },
  {
    what: 'a cancellation by the owner',
    holderHears: ['claim_lost', 'state_conflict'],
    strike: ({ crew }, tasks) => cancelled(tasks.map(({ id }) => crew.cancelAsOwner(id))),
  },
]

/** The refusals that an agent other than the holder may get. */
const othersHear: readonly ErrorCode[] = ['claim_held', 'state_conflict']

const isHolders = (op: TaskOp): boolean => (holderOps as readonly TaskOp[]).includes(op)

/** Describes the answers that no side of this race may get. */
export const wrongAnswers = ({ holderHears }: Rival, asked: readonly Asked[]): string[] =>
  asked.flatMap(({ op, reply: { status, json } }) => {
    if (status === 200) return []
    const { error } = json as { error: ErrorCode }
    const allowed = isHolders(op) ? holderHears : othersHear
    return status < 500 && allowed.includes(error) ? [] : [`${op} was answered ${status} ${error}`]
  })

/**
 * Creates and claims this many tasks. Their holder then performs all its operations simultaneously, and the
 * rival event occurs somewhere in between.
 */
export async function race(its: Race, rival: Rival, count: number): Promise<Asked[]> {
  const { crew, chance, creator, holder } = its
  const given = await crew.give(count, creator, holder)
  const tasks = await Promise.all(given.map(async ({ id }) => (await crew.claim(holder, id)).json as Task))
  const acts = tasks
    .flatMap((task) => holderOps.map((op) => ({ task, op, at: chance() })))
    .sort((one, other) => one.at - other.at)
  const strikeAt = Math.floor(chance() * acts.length)
  const asked: Promise<Asked[]>[] = []
  for (const [index, { task, op }] of acts.entries()) {
    if (index === strikeAt) asked.push(rival.strike(its, tasks))
    asked.push(crew.hold(holder, op, task).then((reply) => [{ op, reply }]))
    // Some requests are sent together, some after the server has started on the earlier ones.
    if (chance() < 0.3) await new Promise((resolve) => setImmediate(resolve))
  }
  return (await Promise.all(asked)).flat()
}

/** Makes a race between two new agents, so that no race reads the tasks of another. */
export async function newRace(bridge: TestBridge, name: string, chance: Chance): Promise<Race> {
  const creator = await bridge.agent(`giver of ${name}`)
  const holder = await bridge.agent(`taker of ${name}`)
  return { bridge, crew: new Claimers(bridge), chance, creator, holder }
}
