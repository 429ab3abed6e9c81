/**
 * The full story of pairs of agents over the SDK: a message, a question with its answer, a whole task, a
 * file.
 *
 * Each pair plays it again and again. If a call fails because no node answers, the agent repeats it with the
 * same key, as a program does. Each step takes the time until its user has the result.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Bridge, BridgeError, type ReceivedMessage } from '../../../../sdk/index.ts'
import { isTemporary } from '../../../../sdk/program.ts'
import { enroll } from '../../../support/agent.ts'
import type { TestOwner } from '../../../support/owner.ts'
import { bridgeOf } from '../../../support/sdk-listener.ts'
import type { Operation } from '../history.ts'
import { Recorder } from './recorder.ts'

export const kinds = ['message', 'question', 'task', 'file'] as const
export type Kind = (typeof kinds)[number]

export interface Step {
  readonly kind: Kind
  readonly begunMs: number
  endedMs: number
  /** The slow and the failed requests of both agents until the step ended. */
  requests(): string[]
}

const fileBytes = 700_000
const againAfterMs = 50

interface Person {
  readonly bridge: Bridge
  readonly recorder: Recorder
  readonly id: string
  readonly name: string
}

export class Pair {
  readonly asker: Person
  readonly worker: Person
  readonly conversationId: string
  readonly steps: Step[] = []
  /** Ids of transfers whose file the recipient has verified. */
  readonly files: string[] = []
  readonly #folder: string
  readonly #told = new Map<string, PromiseWithResolvers<void>>()
  readonly #over = new AbortController()
  readonly #done: Promise<unknown>[]
  /** Resolves at the end of the open step. */
  #next = Promise.withResolvers<void>()
  #isEnding = false
  #isClosed = false

  private constructor(asker: Person, worker: Person, conversationId: string, folder: string) {
    this.asker = asker
    this.worker = worker
    this.conversationId = conversationId
    this.#folder = folder
    this.#done = [this.#listen(), this.#play()]
    for (const each of this.#done) each.catch(() => {})
  }

  static async start(owner: TestOwner, projectId: string, name: string, folder: string): Promise<Pair> {
    await mkdir(join(folder, 'sent'), { recursive: true })
    await mkdir(join(folder, 'received'), { recursive: true })
    const asker = await makePerson(owner, projectId, `${name}-asks`)
    const worker = await makePerson(owner, projectId, `${name}-works`)
    const { id } = await asker.bridge.conversations.open(worker.id)
    return new Pair(asker, worker, id, folder)
  }

  get #people(): readonly Person[] {
    return [this.asker, this.worker]
  }

  get #finished(): number {
    return this.steps.filter(({ endedMs }) => endedMs < Number.POSITIVE_INFINITY).length
  }

  /** Resolves after this many steps more have ended. @throws the failure of the pair */
  async plays(more: number): Promise<void> {
    const wanted = this.#finished + more
    const ended = Promise.race(this.#done).then(() => Promise.reject(new Error('the pair has ended')))
    // The pair ends later too, when nobody waits for its steps.
    ended.catch(() => {})
    while (this.#finished < wanted) await Promise.race([this.#next.promise, ended])
  }

  async #play(): Promise<void> {
    for (let round = 0; !this.#isEnding; round += 1) {
      const kind = kinds[round % kinds.length] as Kind
      const step: Step = {
        kind,
        begunMs: performance.now(),
        endedMs: Number.POSITIVE_INFINITY,
        requests: () =>
          this.#people.flatMap(({ recorder }) => recorder.requests.between(step.begunMs, step.endedMs)),
      }
      this.steps.push(step)
      await this.#perform(kind, `${kind}-${round}-${randomUUID()}`)
      step.endedMs = performance.now()
      const { resolve } = this.#next
      this.#next = Promise.withResolvers()
      resolve()
    }
  }

  async #perform(kind: Kind, text: string): Promise<void> {
    const { bridge } = this.asker
    const to = this.worker.id
    const key = { idempotencyKey: text }
    if (kind === 'message') {
      const note = { recipient_agent_id: to, type: 'note', body: text } as const
      await this.#settled(() => bridge.messages.send({ conversation_id: this.conversationId, ...note }, key))
      return this.#at(text).promise
    }
    if (kind === 'question') {
      const answer = await this.#settled(() => bridge.ask(to, text, { ...key, timeout: 240_000 }))
      return this.asker.recorder.heard(answer)
    }
    if (kind === 'task') {
      const input = { assignee_agent_id: to, title: text, instructions: 'do it' }
      const { id } = await this.#settled(() => bridge.tasks.create(input, key))
      const ended = await this.#settled(() => bridge.tasks.wait(id, { timeout: 240_000 }))
      if (ended.state !== 'completed') throw new Error(`task ${id} is ${ended.state}`)
      return
    }
    await this.#sendFile(text)
  }

  async #sendFile(name: string): Promise<void> {
    const path = join(this.#folder, 'sent', `${name}.bin`)
    const bytes = randomBytes(fileBytes)
    await writeFile(path, bytes)
    const keep = join(this.#folder, 'keep')
    const { id } = await this.#settled(() =>
      this.asker.bridge.transfers.send(path, { to: this.worker.id, keep }),
    )
    await this.#at(id).promise
    const received = await readFile(join(this.#folder, 'received', `${id}.bin`))
    if (sha256(received) !== sha256(bytes)) throw new Error(`the file of ${id} differs`)
    this.files.push(id)
    await rm(path)
    await rm(join(this.#folder, 'received', `${id}.bin`))
  }

  async #listen(): Promise<void> {
    const { bridge, recorder } = this.worker
    const { signal } = this.#over
    while (!signal.aborted)
      try {
        for await (const message of bridge.listen({ signal, transports: ['socket', 'sse'] })) {
          recorder.heard(message)
          await this.#answer(message)
        }
      } catch (error) {
        if (!signal.aborted && !isSkewed(error)) throw error
      }
  }

  async #answer(message: ReceivedMessage): Promise<void> {
    const { bridge } = this.worker
    const { id, type, body } = message
    if (type === 'question') {
      const reply = { type: 'answer', body: `answer to ${id}` } as const
      await this.#settled(() => bridge.messages.reply(id, reply, { idempotencyKey: `reply-${id}` }))
    }
    if (type === 'task' && body.startsWith('new task')) await this.#work(String(message.task_id))
    if (type === 'transfer' && message.transfer_id !== null) await this.#receive(message.transfer_id)
    await this.#settled(() => message.acknowledge())
    this.#at(body).resolve()
  }

  async #work(id: string): Promise<void> {
    const { tasks } = this.worker.bridge
    const task = await this.#settled(() => tasks.claim(id, { idempotencyKey: `claim-${id}` }))
    const result = `result-${id}`
    const evidence = [{ kind: 'text', value: result }] as const
    await this.#settled(() => tasks.complete(task, { result, evidence }, { idempotencyKey: result }))
  }

  async #receive(id: string): Promise<void> {
    const output = join(this.#folder, 'received', `${id}.bin`)
    const keep = join(this.#folder, 'kept')
    const { transfers } = this.worker.bridge
    const { state } = await this.#settled(() => transfers.get(id))
    if (state !== 'verified') await this.#settled(() => transfers.receive(id, output, { keep }))
    this.#at(id).resolve()
  }

  #at(name: string): PromiseWithResolvers<void> {
    const known = this.#told.get(name) ?? Promise.withResolvers<void>()
    this.#told.set(name, known)
    if (this.#isClosed) known.resolve()
    return known
  }

  /** Ends the story after the open step, and reads both inboxes to their end, each in a new session. */
  async drain(): Promise<void> {
    const [listening, playing] = this.#done
    this.#isEnding = true
    await Promise.race([playing, listening])
    this.#over.abort()
    await Promise.all(this.#done)
    for (const person of this.#people) while (!(await this.#readToEnd(person)));
  }

  /**
   * Reads the inbox to its end in a new session. Returns false if an answer was lost: its messages count as
   * offered, and are due again only after the redelivery interval.
   */
  async #readToEnd({ bridge, recorder }: Person): Promise<boolean> {
    const lostBefore = recorder.lostReads
    await this.#settled(() => bridge.sessions.close())
    while ((await this.#settled(() => bridge.inbox.read({ limit: 100 }))).messages.length > 0);
    return recorder.lostReads === lostBefore
  }

  /** Repeats a call until a node answers it, or the pair is closed. */
  async #settled<T>(act: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await act()
      } catch (error) {
        if (this.#isClosed || !(isTemporary(error, 'reading') || isSkewed(error))) throw error
        await sleep(againAfterMs)
      }
    }
  }

  get operations(): Operation[] {
    return this.#people.flatMap(({ recorder }) => recorder.operations)
  }

  /** Ends the story in the middle of a step. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#over.abort()
    for (const { bridge, recorder } of this.#people) {
      await bridge.close()
      await recorder.close()
    }
    // What the open step waits for does not come any more.
    for (const told of this.#told.values()) told.resolve()
    this.#isEnding = true
    await Promise.allSettled(this.#done)
  }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

async function makePerson(owner: TestOwner, projectId: string, name: string): Promise<Person> {
  const { id } = await owner.createAgent(projectId, name)
  const agent = await enroll(owner.baseUrl, await owner.enrollmentCode(projectId, id), () => new Date())
  const recorder = new Recorder(id, name, agent.enrolled.credential_id)
  const bridge = bridgeOf(agent, { fetch: recorder.fetch })
  return { bridge, recorder, id, name }
}

/** The clock of the database was set, and not every node knows it. */
const isSkewed = (error: unknown): boolean => error instanceof BridgeError && error.code === 'clock_skew'
