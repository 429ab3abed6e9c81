/**
 * Observers beside the story. They write at one node and read at another, follow lists at random nodes, send one
 * request to all nodes, end sessions, and write to the lanes that all projects share. The result is checked by the rules for several nodes.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Task } from '../../../../sdk/contract/agent/tasks.ts'
import { limits } from '../../../../sdk/contract/limits.ts'
import { enroll, type SignedCall, type TestAgent } from '../../../support/agent.ts'
import { chanceFrom } from '../../../support/chance.ts'
import { exchange, type Reply } from '../../../support/http.ts'
import { agentAt, ownerAt } from '../../../support/nodes.ts'
import { machineMs } from '../client-log.ts'
import { Calls } from './calls.ts'
import { Follower, type Reading } from './follower.ts'
import type { Harness } from './harness.ts'
import { OwnClient } from './own-client.ts'
import type { ClusterRun, Held, Probe, Replay } from './rules.ts'
import { turnSessions } from './session-turns.ts'
import { type SharedWrite, writeSharedLanes } from './shared-lanes.ts'
import { isSkewed } from './skew.ts'

/** A node that has not answered a write by then counts as away. */
const usualPatienceMs = 700
const usualPauseMs = 30
/** Most time until each observer has one result more at the end. */
const lastResultWithinMs = 60_000

/** Claims that each sample asks about. */
const sampledClaims = 4

const watched = ['probe', 'acknowledgement', 'replay', 'sample', 'node', 'packages', 'session'] as const

export class Observers {
  readonly #harness: Harness
  readonly #calls: Calls
  readonly #ova: TestAgent
  readonly #oval: TestAgent
  readonly #projectId: string
  readonly #conversation: string
  readonly #pauseMs: number
  /** For the samples. */
  readonly #client: OwnClient
  readonly #followers: readonly Follower[]
  /** The follower of the inbox that the probes fill. */
  readonly #inbox: Follower
  readonly #probes: Probe[] = []
  readonly #replays: Replay[] = []
  readonly #held: Held[] = []
  /** When each observer last had a result. */
  readonly #lastMs = new Map(watched.map((what) => [what, machineMs()]))
  readonly #working: Promise<unknown>
  /** Rejects with the first failure of an observer. Never resolves. */
  readonly failed: Promise<never>
  /** Times at which writes to the project were confirmed. */
  readonly confirmedMs: number[] = []
  /** The writes to the lanes that all projects share. */
  readonly sharedWrites: SharedWrite[] = []

  private constructor(harness: Harness, parts: Parts) {
    this.#harness = harness
    this.#pauseMs = parts.pauseMs
    this.#calls = new Calls(harness, chanceFrom(parts.seed), parts.patienceMs)
    this.#ova = parts.ova
    this.#oval = parts.oval
    this.#projectId = parts.projectId
    this.#conversation = parts.conversation
    this.#client = new OwnClient(() => harness.primary.url)
    this.#followers = parts.followers
    this.#inbox = parts.inbox
    const observers = [this.#probe(), this.#acknowledge(), this.#replay(), this.#sample()]
    this.#working = Promise.all([
      ...observers,
      ...this.#followAll(),
      this.#writeShared(parts),
      this.#turn(parts),
    ])
    this.failed = this.#working.then(() => new Promise<never>(() => {}))
    this.failed.catch(() => {})
  }

  static async start(harness: Harness, projectId: string, options: ObserverOptions): Promise<Observers> {
    const { seed, patienceMs = usualPatienceMs, pauseMs = usualPauseMs } = options
    const { owner, url } = harness
    const person = async (name: string) => {
      const { id } = await owner.createAgent(projectId, name)
      const agent = await enroll(url, await owner.enrollmentCode(projectId, id), () => new Date())
      await agent.startSession()
      return agent
    }
    const [ova, oval, ovid] = [await person('ova'), await person('oval'), await person('ovid')]
    const side = await owner.createProject('side')
    const conversation = await ova.conversationWith(oval.id)
    const [last] = await harness.primary.query<{ id: string }>(
      'SELECT id FROM audit WHERE project_id = $1 ORDER BY id DESC LIMIT 1',
      [projectId],
    )
    const first = last?.id ?? ''
    const records = 'SELECT id FROM audit WHERE project_id = $1 AND id > $2 ORDER BY id'
    const byOwner = (target: string): Reading['read'] => {
      return (node, query) => ownerAt(node, owner).call({ target: `${target}?${query}` })
    }
    const byAgent = (agent: TestAgent, target: string): Reading['read'] => {
      return (node, query) => agentAt(node, agent, harness.now).call({ target: `${target}?${query}` })
    }
    const project = `/api/admin/projects/${projectId}`
    const readings: Reading[] = [
      { what: 'audit', first, read: byOwner(`${project}/audit`), stored: [records, projectId, first] },
      { what: 'events', first, read: byOwner(`${project}/events`), stored: [records, projectId, first] },
      {
        what: 'tasks',
        read: byAgent(ova, '/api/v1/tasks'),
        stored: ['SELECT id FROM tasks WHERE creator_agent_id = $1 ORDER BY id', ova.id],
      },
      {
        what: 'messages',
        read: byAgent(oval, '/api/v1/inbox/messages'),
        stored: ['SELECT id FROM messages WHERE inbox_agent_id = $1 ORDER BY id', oval.id],
      },
    ]
    const followers = readings.map((reading, index) => new Follower(reading, chanceFrom(seed + index)))
    const inbox = followers[readings.findIndex(({ what }) => what === 'messages')] as Follower
    const people = { ova, oval, ovid, conversation }
    const projects = { projectId, sideId: side.id }
    return new Observers(harness, { seed, patienceMs, pauseMs, ...projects, ...people, followers, inbox })
  }

  #followAll(): Promise<void>[] {
    return this.#followers.map(async (follower) => {
      while (!this.#calls.isOver) {
        await follower.page(this.#harness.nodes)
        await sleep(2 * this.#pauseMs)
      }
    })
  }

  #writeShared({ ova, oval, sideId }: Parts): Promise<void> {
    const writers = { owner: this.#harness.owner, projectId: sideId, from: ova, to: oval }
    return writeSharedLanes(this.#calls, writers, (write) => {
      this.sharedWrites.push(write)
      this.#lastMs.set(write.lane, write.confirmedMs)
    })
  }

  #turn({ ovid }: Parts): Promise<void> {
    const { nodes } = this.#harness
    return turnSessions(this.#calls, { agent: ovid, nodes }, (held) => {
      this.#held.push(held)
      this.#lastMs.set('session', machineMs())
    })
  }

  /** Sends or creates at one node, and reads the result at another. */
  async #probe(): Promise<void> {
    for (let count = 0; !this.#calls.isOver; count += 1) {
      const isTask = count % 4 === 0
      const id = await this.#write(isTask)
      const confirmedMs = machineMs()
      if (id !== undefined) {
        this.confirmedMs.push(confirmedMs)
        const reader = this.#calls.at(this.#oval)
        const target = `/api/v1/${isTask ? 'tasks' : 'messages'}/${id}`
        const readMs = machineMs()
        const reply = await this.#calls.answered(
          this.#calls.noted(`a read of ${target}`, reader.call({ target })),
        )
        const status = reply?.status ?? 503
        const what = isTask ? `task ${id}` : `message ${id}`
        if (reply !== undefined && status < 500 && !isSkewed(reply)) {
          this.#probes.push({ what, confirmedMs, readMs, seen: status === 200 })
          this.#lastMs.set('probe', readMs)
        }
      }
      await sleep(this.#pauseMs)
    }
  }

  /** Returns the id, or undefined at the end. The key is repeated at other nodes. */
  async #write(isTask: boolean): Promise<string | undefined> {
    const key = randomUUID()
    const to = this.#oval.id
    const call: SignedCall = isTask
      ? { target: '/api/v1/tasks', key, body: { assignee_agent_id: to, title: key, instructions: 'wait' } }
      : {
          target: '/api/v1/messages',
          key,
          body: { conversation_id: this.#conversation, recipient_agent_id: to, type: 'note', body: key },
        }
    const reply = await this.#calls.granted(`a write to ${call.target}`, (node) =>
      this.#calls.at(this.#ova, node).call(call),
    )
    const answer = reply?.json as { id: string; message?: { id: string } } | undefined
    return answer?.message?.id ?? answer?.id
  }

  /**
   * Acknowledges the messages that the follower of the inbox has seen. The inbox would be full after some
   * thousand probes.
   */
  async #acknowledge(): Promise<void> {
    let count = 0
    while (!this.#calls.isOver) {
      const message_ids = this.#inbox.seen.slice(count, count + limits.acknowledgeIds)
      if (message_ids.length > 0) {
        const target = '/api/v1/acknowledgements'
        const calling = this.#calls.at(this.#oval).call({ target, body: { message_ids }, key: null })
        const reply = await this.#calls.answered(this.#calls.noted('an acknowledgement', calling))
        if (reply?.status === 200) {
          count += message_ids.length
          this.#lastMs.set('acknowledgement', machineMs())
        } else if (reply !== undefined && reply.status < 500 && !isSkewed(reply))
          throw new Error(`an acknowledgement answered ${reply.text}`)
      }
      await sleep(10 * this.#pauseMs)
    }
  }

  /** Sends the same signed bytes to all nodes at once. */
  async #replay(): Promise<void> {
    while (!this.#calls.isOver) {
      const target = '/api/v1/inbox/messages?limit=1'
      const time = Math.floor(this.#harness.now().getTime() / 1000)
      const headers = this.#oval.sign({ target, time }, '')
      const sent = this.#harness.nodes.map(({ url }) =>
        exchange(url, { method: 'GET', target, headers }).then(outcomeOf, () => 'away'),
      )
      const nonce = headers.find(([name]) => name === 'X-Bridge-Nonce')?.[1] ?? ''
      this.#replays.push({ nonce, outcomes: await Promise.all(sent) })
      this.#lastMs.set('replay', machineMs())
      await sleep(3 * this.#pauseMs)
    }
  }

  /** Looks for agents with two active sessions, and asks all nodes who holds the newest claims. */
  async #sample(): Promise<void> {
    while (!this.#calls.isOver) {
      const sessions = await this.#read<{ agent_id: string; ids: string[] }>(
        "SELECT agent_id, array_agg(id) AS ids FROM sessions WHERE state = 'active' GROUP BY agent_id",
      )
      const claims = await this.#read<{ id: string }>(
        `SELECT id FROM tasks WHERE project_id = $1 AND claim_ends_at IS NOT NULL
         ORDER BY claimed_at DESC LIMIT ${sampledClaims}`,
        this.#projectId,
      )
      this.#held.push(
        ...sessions.map(({ agent_id, ids }) => ({ what: `session of ${agent_id}`, holders: ids })),
        ...(await Promise.all(claims.map(({ id }) => this.#holdersOf(id)))).flat(),
      )
      if (sessions.length > 0) this.#lastMs.set('sample', machineMs())
      await sleep(10 * this.#pauseMs)
    }
  }

  #read<R extends object>(query: string, ...values: string[]): Promise<R[]> {
    return this.#client.query<R>(query, values).catch(() => [])
  }

  /** Asks all nodes at once who holds a task. Between two answers a claim may end, and another one begin. */
  async #holdersOf(taskId: string): Promise<Held[]> {
    const { nodes, owner } = this.#harness
    const target = `/api/admin/projects/${this.#projectId}/tasks/${taskId}`
    const replies = await Promise.all(
      nodes.map((node) => this.#calls.answered(ownerAt(node, owner).call({ target }))),
    )
    const claims = replies.flatMap((reply) =>
      reply?.status === 200 ? ((reply.json as Task).claim ?? []) : [],
    )
    const generations = [...new Set(claims.map(({ generation }) => generation))]
    return generations.map((generation) => {
      const named = claims.filter((claim) => claim.generation === generation)
      const holders = named.map((claim) => `${claim.session_id} ${claim.session_generation}`)
      return { what: `claim ${generation} of ${taskId}`, holders }
    })
  }

  /** Ends observing, follows each list to its end, and returns what was seen. */
  async end(): Promise<Omit<ClusterRun, 'lanes'>> {
    const fromMs = machineMs()
    const isLate = () => [...this.#lastMs.values()].some((lastMs) => lastMs < fromMs)
    while (isLate() && machineMs() - fromMs < lastResultWithinMs)
      await Promise.race([sleep(this.#pauseMs), this.failed])
    const endMs = machineMs()
    const watches = [...this.#lastMs].map(([what, lastMs]) => ({
      what,
      agoMs: lastMs < fromMs ? endMs - lastMs : 0,
    }))
    this.#calls.isOver = true
    await this.#working
    const followed = []
    for (const follower of this.#followers)
      followed.push(await follower.end(this.#harness.nodes, this.#harness.primary))
    const [probes, replays, held] = [this.#probes, this.#replays, this.#held]
    return { followed, probes, replays, held, refusals: this.#calls.refusals, watches }
  }

  async close(): Promise<void> {
    this.#calls.isOver = true
    await this.#working.catch(() => {})
    await this.#client.close()
  }
}

export interface ObserverOptions {
  readonly seed: number
  /** Most time for an answer, by default 700 ms. */
  readonly patienceMs?: number | undefined
  /** The shortest pause of an observer after a result, by default 30 ms. Some pause up to ten times as long. */
  readonly pauseMs?: number | undefined
}

interface Parts {
  readonly seed: number
  readonly patienceMs: number
  readonly pauseMs: number
  readonly projectId: string
  /** The project of the writes to the lane of the node. */
  readonly sideId: string
  readonly ova: TestAgent
  readonly oval: TestAgent
  /** The agent whose sessions end. */
  readonly ovid: TestAgent
  readonly conversation: string
  readonly followers: readonly Follower[]
  readonly inbox: Follower
}

function outcomeOf({ status, json }: Reply): string {
  if (status === 200) return 'ok'
  return status >= 500 ? 'away' : (json as { error: string }).error
}
