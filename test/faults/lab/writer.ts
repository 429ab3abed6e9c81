/**
 * One client under faults: it sends, repeats keys, reads, acknowledges, starts and closes sessions, one call
 * after the other, and writes each into its log. If an outcome is unknown, it repeats the request with the
 * same key and the same bytes.
 *
 * It can be killed too: a new writer on the same log first repeats every key that was left open.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { importPrivateKey, publicKeyOf } from '../../../sdk/signing/keys.ts'
import { type Enrolled, type SignedCall, TestAgent } from '../../support/agent.ts'
import { type Chance, chanceFrom, pick } from '../../support/chance.ts'
import { ClientLog, type Invocation, type Return, readLog } from './client-log.ts'
import type { Operation } from './history.ts'
import type { holderOps, TaskOp } from './task-effects.ts'

export interface WriterSpec {
  readonly enrolled: Enrolled
  readonly privateKey: string
  readonly instanceId: string
  readonly peerId: string
  readonly conversationId: string
  readonly logPath: string
  readonly seed: number
  /** Pause after each operation. */
  readonly pauseMs: number
}

/** The server from the writers' view, which stops and starts again. */
export interface Server {
  readonly url: string
  /** The number of its starts. */
  starts(): number
  /** Resolves once the number of starts exceeds `before`. */
  startedAfter(before: number): Promise<void>
  /** Reports an answer of 200. */
  answered(): void
  /** Reports a call whose connection ended before its answer. */
  lost(call: string): void
}

interface Sent {
  readonly key: string
  readonly text: string
}

interface HeldTask {
  readonly id: string
  readonly generation: number
  readonly session_generation: number
}

/**
 * The operations of holders, in turns, so that every run has each of them. An operation that is listed twice
 * occurs twice as often.
 */
const ends: readonly (typeof holderOps)[number][] = [
  ...(['task.complete', 'task.renew', 'task.release', 'task.fail'] as const),
  ...(['task.complete', 'task.renew', 'task.release', 'task.stopped'] as const),
]
let turn = 0

/** Time until a request that the server refused is repeated. */
const pauseMs = 50

const blank = { key: null, conversation: null, text: null, messageIds: [], after: 0 } as const

export class Writer {
  readonly #spec: WriterSpec
  readonly #server: Server
  readonly #agent: TestAgent
  readonly #log: ClientLog
  readonly #chance: Chance
  readonly #sent: Sent[] = []
  readonly #open: Sent[] = []
  readonly #unacknowledged = new Set<string>()
  #lastSequence = 0
  /** By how much the clock of the server is ahead of this machine's. */
  #aheadMs = 0
  /** Tasks assigned to this client. */
  readonly #given: string[] = []
  /** Tasks created by this client. */
  readonly #made: string[] = []
  /** Claims granted to this client, including those that it may have lost since. */
  readonly #held: HeldTask[] = []

  constructor(spec: WriterSpec, server: Server) {
    const privateKey = importPrivateKey(spec.privateKey)
    const keys = { privateKey, publicKey: publicKeyOf(privateKey) }
    this.#spec = spec
    this.#server = server
    const clock = () => new Date(Date.now() + this.#aheadMs)
    this.#agent = new TestAgent(server.url, keys, spec.enrolled, clock)
    const earlier = readLog(spec.logPath)
    this.#recall(earlier)
    this.#log = new ClientLog(spec.logPath)
    this.#chance = chanceFrom(spec.seed + earlier.length)
  }

  /** Restores the state of a killed client from its log. */
  #recall(earlier: readonly Operation[]): void {
    for (const { op, key, text, outcome, answer, messageIds } of earlier) {
      if (op === 'send' && key !== null && text === key) {
        if (!this.#sent.some((each) => each.key === key)) this.#sent.push({ key, text })
        const at = this.#open.findIndex((each) => each.key === key)
        if (outcome === 'info' && at < 0) this.#open.push({ key, text })
        if (outcome !== 'info' && at >= 0) this.#open.splice(at, 1)
      }
      if (op === 'inbox' && outcome === 'ok') this.#noteOffers(answer)
      if (op === 'ack' && outcome === 'ok') for (const id of messageIds) this.#unacknowledged.delete(id)
    }
  }

  async work(isOver: () => boolean): Promise<void> {
    await this.#startSession()
    for (const sent of this.#open.splice(0)) await this.#settle(() => this.#send(sent))
    while (!isOver()) {
      await this.#settle(this.#nextStep())
      if (this.#spec.pauseMs > 0) await delay(this.#spec.pauseMs)
    }
  }

  /** Reads the inbox to its end in a new session, until every answer of one session has arrived. */
  async drain(): Promise<void> {
    while (!(await this.#readToEnd()));
    this.#log.close()
  }

  /**
   * Starts a new session, which is offered every unacknowledged message once more. Returns false if an answer
   * was lost: its messages count as offered, and are due again only after the redelivery interval.
   */
  async #readToEnd(): Promise<boolean> {
    await this.#settle(() => this.#close())
    await this.#startSession()
    for (;;) {
      const page = await this.#readInbox(100)
      if (page.outcome === 'fail') throw new Error(`an inbox was refused: ${page.answer}`)
      if (page.outcome === 'info') return delay(pauseMs, false)
      if ((JSON.parse(page.answer) as { messages: unknown[] }).messages.length === 0) return true
    }
  }

  #nextStep(): () => Promise<Operation> {
    const dice = this.#chance()
    const held = pick(this.#chance, this.#held)
    if (held !== undefined && this.#chance() < 0.4) return this.#end(held)
    const earlier = pick(this.#chance, this.#sent)
    if (dice < 0.1 && earlier) return () => this.#send(earlier)
    if (dice < 0.15 && earlier) return () => this.#contradict(earlier)
    if (dice < 0.3) return () => this.#readInbox(20)
    if (dice < 0.45 && this.#unacknowledged.size > 0) return () => this.#acknowledge(this.#someOffers())
    if (dice < 0.5) return () => this.#readHistory(Math.floor(this.#chance() * this.#lastSequence))
    if (dice < 0.54) return () => this.#start()
    if (dice < 0.56) return () => this.#close()
    const given = pick(this.#chance, this.#given)
    const made = pick(this.#chance, this.#made)
    if (dice < 0.62) return this.#create()
    if (dice < 0.65 && made !== undefined) return this.#cancel(made)
    if (dice < 0.72 && given !== undefined) return this.#claim(given)
    const text = `${this.#agent.name}-${String(this.#sent.length).padStart(6, '0')}`
    const sent = { key: text, text }
    this.#sent.push(sent)
    return () => this.#send(sent)
  }

  /** Repeats a call until its outcome is known. Starts a new session if the current one has ended. */
  async #settle(act: () => Promise<Operation>): Promise<Operation> {
    for (;;) {
      const before = this.#server.starts()
      const operation = await act()
      if (operation.outcome === 'ok') this.#server.answered()
      if (operation.outcome === 'info') {
        if (operation.code === null) {
          this.#server.lost(`${operation.op}: ${operation.answer}`)
          await this.#server.startedAfter(before)
        } else await delay(pauseMs)
        continue
      }
      const refused = operation.code?.startsWith('session_') ?? false
      if (operation.op === 'start' || !(refused || operation.op === 'close')) return operation
      await this.#startSession()
      if (operation.op === 'close') return operation
    }
  }

  async #startSession(): Promise<void> {
    const operation = await this.#settle(() => this.#start())
    if (operation.outcome !== 'ok') throw new Error(`a session was refused: ${operation.answer}`)
  }

  #send({ key, text }: Sent): Promise<Operation> {
    const { peerId, conversationId } = this.#spec
    const body = { conversation_id: conversationId, recipient_agent_id: peerId, type: 'note', body: text }
    const invocation = { op: 'send', key, text, conversation: conversationId } as const
    return this.#record(invocation, { target: '/api/v1/messages', body, key })
  }

  /** Sends the key of one text with another text, which must be refused and store nothing. */
  #contradict({ key, text }: Sent): Promise<Operation> {
    return this.#send({ key, text: `${text} changed` })
  }

  /** A retry is the same request: the step is created once and repeated until its outcome is known. */
  #create(): () => Promise<Operation> {
    const key = `task-${randomUUID()}`
    const body = {
      assignee_agent_id: this.#spec.peerId,
      title: key,
      instructions: 'do it',
      claim_ttl_seconds: 30,
    }
    return async () => {
      const invocation = { op: 'task.create', key, text: key } as const
      const operation = await this.#record(invocation, { target: '/api/v1/tasks', body, key })
      if (operation.outcome === 'ok') this.#made.push((JSON.parse(operation.answer) as { id: string }).id)
      return operation
    }
  }

  #cancel(id: string): () => Promise<Operation> {
    const key = `cancel-${randomUUID()}`
    const call = { target: `/api/v1/tasks/${id}/cancel`, body: {}, key }
    return () => this.#record({ op: 'task.cancel', key, task: id }, call)
  }

  #claim(id: string): () => Promise<Operation> {
    const key = `claim-${randomUUID()}`
    return async () => {
      const operation = await this.#record(
        { op: 'task.claim', key, task: id },
        { target: `/api/v1/tasks/${id}/claim`, body: {}, key },
      )
      if (operation.outcome === 'ok') {
        const { claim } = JSON.parse(operation.answer) as { claim: Omit<HeldTask, 'id'> }
        this.#held.push({ id, generation: claim.generation, session_generation: claim.session_generation })
      }
      return operation
    }
  }

  /** Some holders act after they have finished or lost their claim. */
  #end(held: HeldTask): () => Promise<Operation> {
    const op = ends[turn++ % ends.length] ?? 'task.complete'
    const verb = op.replace('task.', '')
    const key = `${verb}-${randomUUID()}`
    const { id, generation, session_generation } = held
    const named = { claim_generation: generation, session_generation }
    const evidence = [{ kind: 'text', value: key }]
    const words: Partial<Record<TaskOp, object>> = {
      'task.complete': { result: key, evidence },
      'task.release': { reason: key },
      'task.fail': { reason: key },
    }
    const body = { ...named, ...words[op] }
    const target = `/api/v1/tasks/${id}/${verb}`
    if (op !== 'task.renew' && this.#chance() < 0.7) this.#held.splice(this.#held.indexOf(held), 1)
    return () => this.#record({ op, key, task: id, generation }, { target, body, key })
  }

  async #readInbox(limit: number): Promise<Operation> {
    const read = await this.#record({ op: 'inbox' }, { target: `/api/v1/inbox?limit=${limit}` })
    if (read.outcome === 'ok') this.#noteOffers(read.answer)
    return read
  }

  async #acknowledge(messageIds: string[]): Promise<Operation> {
    const call = { target: '/api/v1/acknowledgements', body: { message_ids: messageIds }, key: null }
    const operation = await this.#record({ op: 'ack', messageIds }, call)
    if (operation.outcome === 'ok') for (const id of messageIds) this.#unacknowledged.delete(id)
    return operation
  }

  async #readHistory(after: number): Promise<Operation> {
    const { conversationId: conversation } = this.#spec
    const target = `/api/v1/conversations/${conversation}/messages?after_sequence=${after}&limit=20`
    const read = await this.#record({ op: 'history', conversation, after }, { target })
    if (read.outcome === 'ok') {
      const { next_sequence } = JSON.parse(read.answer) as { next_sequence: number }
      this.#lastSequence = Math.max(this.#lastSequence, next_sequence)
    }
    return read
  }

  async #start(): Promise<Operation> {
    const body = { instance_id: this.#spec.instanceId, client: { name: 'writer', version: '1' } }
    const call = { target: '/api/v1/sessions', body, session: null, key: null }
    const operation = await this.#record({ op: 'start', session: null }, call)
    if (operation.outcome === 'ok') this.#agent.session = JSON.parse(operation.answer)
    return operation
  }

  #close(): Promise<Operation> {
    return this.#record({ op: 'close' }, { target: '/api/v1/sessions/current/close', body: {}, key: null })
  }

  async #record(
    invocation: Partial<Invocation> & Pick<Invocation, 'op'>,
    call: SignedCall,
  ): Promise<Operation> {
    const session = this.#agent.session?.id ?? null
    const operation = await this.#log.record(
      { ...blank, client: this.#agent.id, session, ...invocation },
      () => outcomeOf(this.#agent.call(call)),
    )
    if (operation.code === 'clock_skew') this.#correctClock(operation.answer)
    return operation
  }

  #correctClock(answer: string): void {
    const { details } = JSON.parse(answer) as { details: { server_time: string } }
    this.#aheadMs = Date.parse(details.server_time) - Date.now()
  }

  #noteOffers(answer: string): void {
    const { messages } = JSON.parse(answer) as {
      messages: { id: string; body: string; task_id: string | null }[]
    }
    for (const { id, body, task_id } of messages) {
      this.#unacknowledged.add(id)
      if (task_id !== null && body.startsWith('new task') && !this.#given.includes(task_id))
        this.#given.push(task_id)
    }
  }

  #someOffers(): string[] {
    const some = [...this.#unacknowledged].filter(() => this.#chance() < 0.5).slice(0, 100)
    return some.length > 0 ? some : [...this.#unacknowledged].slice(0, 1)
  }
}

/** Every failure except an answer below 500 leaves the outcome open. */
async function outcomeOf(call: ReturnType<TestAgent['call']>): Promise<Return> {
  try {
    const { status, text } = await call
    if (status === 200) return { outcome: 'ok', code: null, answer: text }
    // A proxy in front of the node answers with a page of its own.
    const error = /^\{/.test(text) ? (JSON.parse(text) as { error: string }).error : `proxy_${status}`
    // A refusal for its time says nothing about the request, which is signed again.
    const isOpen = status >= 500 || error === 'clock_skew'
    return { outcome: isOpen ? 'info' : 'fail', code: error, answer: text }
  } catch (error) {
    return { outcome: 'info', code: null, answer: String(error) }
  }
}
