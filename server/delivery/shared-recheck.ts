/**
 * Backstop for notices of other nodes on PostgreSQL: every 750 ms, or every 250 ms while notifications do
 * not arrive, the node asks what changed.
 *
 * - One statement asks which projects of open waits and live views have a commit. If there is none, that is
 *   all. A commit of the installation itself may end the sign-in of any live view.
 * - Another one asks for the newest message of the agents in these projects. An agent with a newer one is
 *   notified. An agent whose wait is new is asked about too, because its message may be older.
 * - A third one asks whether the project's state or a pairing changed, or a task was released. If so, all its
 *   agents are notified.
 *
 * The number of statements does not depend on the number of waits. Contract §6.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Bus } from '../bus/bus.ts'
import type { Changes } from '../database/changes.ts'
import { any, type CommitListeners } from '../database/commit-listeners.ts'
import { type Lane, nodeLane } from '../database/lanes.ts'
import type { Nodes } from '../database/nodes.ts'
import { Outage } from '../outage.ts'
import type { Presence } from './presence.ts'
import type { Wakeups } from './wakeups.ts'

export interface SharedRecheckServices {
  readonly bus: Pick<Bus, 'mode'>
  readonly nodes: Pick<Nodes, 'isMember'>
  readonly presence: Pick<Presence, 'waitingAgents'>
  readonly commits: Pick<CommitListeners, 'projects' | 'notifyOf'>
  readonly wakeups: Pick<Wakeups, 'notifyHere'>
  readonly log: Pick<FastifyBaseLogger, 'error'>
}

const polledEveryMs = 250
/** While notifications arrive, only each third round asks. A lost one then costs less than a second. */
const notifiedRounds = 3

/** Runs until the returned function is called. */
export function startSharedRecheck(context: SharedRecheckServices, changes: Changes): () => void {
  const recheck = new SharedRecheck(context, changes)
  const outage = new Outage()
  let busy = false
  let round = 0
  const timer = setInterval(() => {
    round += 1
    // A node that the others count as ended may not read.
    if (
      busy ||
      !context.nodes.isMember() ||
      (context.bus.mode === 'notified' && round % notifiedRounds !== 0)
    )
      return
    busy = true
    recheck
      .run()
      .then(() => outage.end())
      .catch((error: unknown) => {
        if (outage.isNew(error)) context.log.error({ err: error }, 'the recheck of open waits failed')
      })
      .finally(() => {
        busy = false
      })
  }, polledEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

class SharedRecheck {
  readonly #context: SharedRecheckServices
  readonly #changes: Changes
  #marks: ReadonlyMap<string, string> = new Map()
  #rights: ReadonlyMap<string, string> = new Map()
  /** The newest message of each agent that waits, empty if there was none. */
  #newest: ReadonlyMap<string, string> = new Map()

  constructor(context: SharedRecheckServices, changes: Changes) {
    this.#context = context
    this.#changes = changes
  }

  async run(): Promise<void> {
    const { presence, commits } = this.#context
    const waiting = presence.waitingAgents()
    const viewed = commits.projects()
    const projects = [...new Set([...waiting.values(), ...viewed])]
    if (projects.length === 0) return
    const marks = await this.#changes.marksOf(viewed.length === 0 ? projects : [...projects, nodeLane])
    const isOther = (lane: Lane) => marks.get(lane) !== this.#marks.get(lane)
    const changed = projects.filter(isOther)
    // Asked before the messages, so that a message which is stored in between is found in the next round.
    await this.#checkRights(projects, changed, waiting)
    await this.#checkMessages(new Set(changed), waiting)
    if (viewed.length > 0 && this.#marks.has(nodeLane) && isOther(nodeLane)) commits.notifyOf(any)
    for (const project of changed) if (this.#marks.has(project)) commits.notifyOf(project)
    this.#marks = marks
  }

  async #checkRights(
    projects: readonly string[],
    changed: readonly string[],
    waiting: ReadonlyMap<string, string>,
  ): Promise<void> {
    const found = changed.length === 0 ? new Map() : await this.#changes.rightsOf(changed)
    const before = this.#rights
    this.#rights = new Map(projects.map((id) => [id, found.get(id) ?? before.get(id) ?? '']))
    const moved = new Set(projects.filter((id) => before.has(id) && before.get(id) !== this.#rights.get(id)))
    for (const [agentId, project] of waiting)
      if (moved.has(project)) this.#context.wakeups.notifyHere(agentId)
  }

  async #checkMessages(changed: ReadonlySet<string>, waiting: ReadonlyMap<string, string>): Promise<void> {
    const before = this.#newest
    const asked = [...waiting].filter(([id, project]) => changed.has(project) || !before.has(id))
    const ids = asked.map(([id]) => id)
    const found = ids.length === 0 ? new Map() : await this.#changes.newestFor(ids)
    const isAsked = new Set(ids)
    this.#newest = new Map(
      [...waiting.keys()].map((id) => [id, (isAsked.has(id) ? found.get(id) : before.get(id)) ?? '']),
    )
    for (const id of ids)
      if ((found.get(id) ?? '') > (before.get(id) ?? '')) this.#context.wakeups.notifyHere(id)
  }
}
