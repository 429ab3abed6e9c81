/**
 * A harness under the load of pairs that play the story and of writers with signed requests, and the check of
 * all that they recorded.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Crew, enlist } from '../crew.ts'
import { checkHistory, type Operation, type Rule, type Run } from '../history.ts'
import { readAllOf } from '../kills.ts'
import { bugsIn, readStored } from '../postgres/load.ts'
import { Harness, type HarnessOptions } from './harness.ts'
import { Observers } from './observers.ts'
import { Pulse } from './pulse.ts'
import { type ClusterRule, type ClusterRun, checkCluster, type Lane } from './rules.ts'
import type { SharedWrite } from './shared-lanes.ts'
import { usualSteps } from './stalls.ts'
import { kinds, Pair, type Step } from './story.ts'

export interface SceneOptions extends HarnessOptions {
  readonly seed: number
  /** Most time that the observers give a node to answer. */
  readonly patienceMs?: number
  readonly pairs?: number
  readonly writers?: number
  /** Pause of each writer and observer after a result. By default the writers make none, and fill two slow cores. */
  readonly pauseMs?: number
}

/** Pause after which writers without an answer try again. */
const tickMs = 100

export class Scene {
  readonly harness: Harness
  readonly pairs: readonly Pair[]
  readonly crew: Crew
  readonly projectId: string
  readonly #observers: Observers
  readonly #pulse: Pulse
  readonly #tick: NodeJS.Timeout

  private constructor(harness: Harness, parts: Parts) {
    this.harness = harness
    this.projectId = parts.projectId
    this.pairs = parts.pairs
    this.crew = parts.crew
    this.#observers = parts.observers
    this.#pulse = parts.pulse
    this.#tick = setInterval(() => this.crew.serverStarted(), tickMs)
  }

  static async start(given: SceneOptions): Promise<Scene> {
    const { seed, patienceMs, pauseMs, pairs: count = 2, writers = 4, ...options } = given
    const harness = await Harness.start(options)
    const pairs: Pair[] = []
    try {
      const { owner } = harness
      const folder = harness.nodes[0]?.folder ?? ''
      const specs = await enlist(owner, { count: writers, folder, seed, pauseMs })
      const projectId = specs[0]?.enrolled.project.id ?? ''
      for (let index = 0; index < count; index += 1)
        pairs.push(await Pair.start(owner, projectId, `pair-${index}`, join(folder, `pair-${index}`)))
      const observers = await Observers.start(harness, projectId, { seed, patienceMs, pauseMs })
      const pulse = await Pulse.start(() => harness.primary)
      const crew = new Crew(harness.url, specs)
      return new Scene(harness, { projectId, pairs, crew, observers, pulse })
    } catch (error) {
      for (const pair of pairs) await pair.close()
      await harness.close()
      throw error
    }
  }

  /** Resolves after each pair has ended this many steps more. @throws the first failure of a pair */
  async plays(more: number): Promise<void> {
    await Promise.all(this.pairs.map((pair) => pair.plays(more)))
  }

  /** Plays until every kind of step has enough undisturbed ones for its usual time. */
  warmUp(): Promise<void> {
    return this.plays(kinds.length * Math.ceil(usualSteps / this.pairs.length))
  }

  /**
   * Resolves with the milliseconds since `sinceMs` once a write that began afterwards is confirmed.
   *
   * @throws the failure of an observer
   */
  async writes(sinceMs: number): Promise<number> {
    const { confirmedMs, failed } = this.#observers
    const wanted = confirmedMs.length + 2
    while (confirmedMs.length < wanted) await Promise.race([sleep(10), failed])
    return (confirmedMs[wanted - 1] ?? 0) - sinceMs
  }

  get steps(): Step[] {
    return this.pairs.flatMap(({ steps }) => steps)
  }

  /** Ends the load and returns all faults, but those of the rules `without`. */
  async end({ without = [], progressWithinMs }: EndOptions = {}): Promise<Ended> {
    const { harness, crew, pairs } = this
    const { owner } = harness
    await Promise.all([crew.drain(), ...pairs.map((pair) => pair.drain())])
    const ids = [
      ...crew.specs.map(({ conversationId }) => conversationId),
      ...pairs.map(({ conversationId }) => conversationId),
    ]
    const conversations = await readAllOf(owner, this.projectId, ids)
    const operations = [...crew.operations(), ...pairs.flatMap((pair) => pair.operations)]
    const observed = await this.#observers.end()
    await this.#pulse.close()
    const run = { operations, conversations, ...(await readStored(harness.primary)) }
    const { away } = this.#pulse
    const confirmedMs = [...effectsOf(operations), ...this.#observers.confirmedMs]
    const shared = sharedLanesOf(this.#observers.sharedWrites, away)
    const lanes = [{ lane: this.projectId, confirmedMs, away }, ...shared]
    const seen = { ...observed, lanes: lanes.map((each) => ({ ...each, progressWithinMs })) }
    const wrong = [...checkHistory(withoutObservers(run, ids)), ...checkCluster(seen)].filter(
      (sentence) => !without.some(({ name }) => sentence.startsWith(`${name}: `)),
    )
    wrong.push(...(await this.#lostFiles()), ...harness.nodes.flatMap(({ errors }) => bugsIn(errors)))
    return { wrong, run, seen }
  }

  /** Files that their recipient has verified, and whose transfer says something else. */
  async #lostFiles(): Promise<string[]> {
    const files = this.pairs.flatMap((pair) => pair.files)
    const rows = await this.harness.primary.query<{ id: string; state: string }>(
      'SELECT id, state FROM transfers WHERE id = ANY ($1)',
      [files],
    )
    const states = new Map(rows.map(({ id, state }) => [id, state]))
    return files
      .filter((id) => states.get(id) !== 'verified')
      .map((id) => `the file of ${id} was received, and its transfer is ${states.get(id) ?? 'not stored'}`)
  }

  async close(): Promise<void> {
    clearInterval(this.#tick)
    await this.#observers.close()
    await this.#pulse.close()
    await this.crew.close()
    for (const pair of this.pairs) await pair.close()
    await this.harness.close()
  }
}

export interface Ended {
  readonly wrong: string[]
  readonly run: Run
  readonly seen: ClusterRun
}

export interface EndOptions {
  readonly without?: readonly (Rule | ClusterRule)[]
  /** A lane may not stand for longer, by default 3 s. */
  readonly progressWithinMs?: number | undefined
}

interface Parts {
  readonly projectId: string
  readonly pairs: readonly Pair[]
  readonly crew: Crew
  readonly observers: Observers
  readonly pulse: Pulse
}

/** The observers keep no history, so their tasks are left out. */
const withoutObservers = (run: Run, conversations: readonly string[]): Run => ({
  ...run,
  tasks: (run.tasks ?? []).filter(({ conversation_id }) => conversations.includes(conversation_id)),
})

/** Between two writes of its only writer nothing waits for a lane, so that time counts as lost. */
function sharedLanesOf(writes: readonly SharedWrite[], away: Lane['away']): Lane[] {
  return [...Map.groupBy(writes, ({ lane }) => lane)].map(([lane, own]) => {
    const begun = own.slice(1).map(({ begunMs }) => begunMs)
    const pauses = begun.map((toMs, index) => [own[index]?.confirmedMs ?? toMs, toMs] as const)
    return {
      lane,
      confirmedMs: own.map(({ confirmedMs }) => confirmedMs),
      away: united([...away, ...pauses]),
    }
  })
}

type Span = Lane['away'][number]

/** Spans of time without their overlaps. */
function united(spans: readonly Span[]): Span[] {
  const result: [number, number][] = []
  for (const [from, to] of spans.toSorted(([one], [other]) => one - other)) {
    const last = result.at(-1)
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else result.push([from, to])
  }
  return result
}

const reads = new Set(['inbox', 'history'])

/** Times at which effects were confirmed. */
const effectsOf = (operations: readonly Operation[]): number[] =>
  operations.filter(({ op, outcome }) => outcome === 'ok' && !reads.has(op)).map(({ returned }) => returned)
