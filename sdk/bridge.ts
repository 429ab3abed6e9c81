/**
 * One agent identity talking to one node; holds the resources.
 *
 * - Every request is signed; every mutation carries an Idempotency-Key that is made before the first attempt.
 * - A session is started when there is none. A revoked credential and a fenced session are told, never worked around:
 *   nothing here enrols, and nothing registers again.
 * - Inspecting a Bridge shows who it is, and no secret.
 *
 * Contract §13. See `Owner` for an owner's session.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as timer } from 'node:timers/promises'
import { inspect } from 'node:util'
import { agentAuthority } from './agent/authority.ts'
import { Courier, type CourierOptions, type Flushed } from './agent/courier.ts'
import { Directory, memoryDirectory, replyAddress } from './agent/directory.ts'
import type { Identity } from './agent/identity.ts'
import { memorySessions, SessionKeeper } from './agent/session.ts'
import type { BridgeOptions } from './bridge-options.ts'
import { conversations } from './contract/agent/conversations.ts'
import { type Message, type MessageSent, messages } from './contract/agent/messages.ts'
import { type Task, tasks } from './contract/agent/tasks.ts'
import { transfers } from './contract/agent/transfers.ts'
import type { EndpointSpec, ResponseOf } from './contract/endpoint.ts'
import { type ConnectionModeSet, type ContactSchedule, connectionMode } from './contract/presence.ts'
import { Listener, type Listening } from './delivery/listener.ts'
import type { ListenOptions, ReceivedMessage, ReceivedPage } from './delivery/received.ts'
import { AcknowledgedIds } from './delivery/seen-offers.ts'
import { Streaming } from './delivery/streaming.ts'
import { Acknowledgements } from './resources/acknowledgements.ts'
import { BootstrapReader } from './resources/bootstrap.ts'
import type { Call } from './resources/call.ts'
import { Conversations } from './resources/conversations.ts'
import { Guides } from './resources/guides.ts'
import { Inbox } from './resources/inbox.ts'
import { Messages } from './resources/messages.ts'
import { Peers } from './resources/peers.ts'
import { RecipientKeys } from './resources/recipient-keys.ts'
import { Sessions } from './resources/sessions.ts'
import { Tasks } from './resources/tasks.ts'
import { Transfers } from './resources/transfers.ts'
import type { MessageDraft } from './storage/outbox.ts'
import { parseBaseUrl } from './transport/address.ts'
import { BridgeError } from './transport/failures.ts'
import { type Pool, pooledFetch } from './transport/fetch.ts'
import { type CallInput, type CallOptions, freshKey, type KeyedOptions, Transport } from './transport/http.ts'
import { defaultClient, userAgentOf } from './version.ts'
import {
  type AnswerOptions,
  type AskOptions,
  answerTo,
  ask,
  type Question,
  type Questioning,
} from './waiting/questions.ts'
import { type EndedTask, type TaskWaitOptions, waitForTask } from './waiting/task-ends.ts'
import { Watch } from './waiting/watch.ts'
import type { TaskHandler, Worked, WorkOptions } from './work/work.ts'

export class Bridge {
  readonly identity: Identity
  readonly messages: Messages
  readonly conversations: Conversations
  readonly peers: Peers
  readonly inbox: Inbox
  readonly sessions: Sessions
  readonly bootstrap: BootstrapReader
  readonly acknowledgements: Acknowledgements
  readonly recipientKeys: RecipientKeys
  readonly guides: Guides
  readonly tasks: Tasks
  readonly transfers: Transfers
  /** Who is who, looked up once and remembered. */
  readonly directory: Directory
  readonly #pool: Pool | undefined
  readonly #courier: Courier
  readonly #clock: () => Date
  readonly #keeper: SessionKeeper
  readonly #listening: Listening
  readonly #watch: Watch
  readonly #questioning: Questioning
  readonly #acknowledged = new AcknowledgedIds()
  readonly #closing = new AbortController()
  /** Past the outbox. */
  readonly #direct: Tasks
  readonly #random: (bytes: number) => Buffer

  /** @throws LocalError `invalid_url`, `insecure_url` */
  constructor(options: BridgeOptions) {
    const { identity, clock = () => new Date(), random = randomBytes, client = defaultClient } = options
    const pool = pooledFetch()
    this.identity = identity
    this.#pool = options.fetch === undefined ? pool : undefined
    const store = options.sessions ?? memorySessions(uuidFrom(random))
    const needsChallenge = identity.record.binding === 'device'
    const keeper = new SessionKeeper({ store, transport: () => transport, client, needsChallenge })
    this.#clock = clock
    this.#random = random
    this.#keeper = keeper
    const address = parseBaseUrl(options.baseUrl, options)
    const authority = agentAuthority({ identity, keeper, clock, random })
    const transport: Transport = new Transport({
      address,
      authority,
      fetch: options.fetch ?? pool.fetch,
      random,
      userAgent: userAgentOf(client),
      timeoutMs: options.timeoutMs,
      sleep: options.sleep,
    })
    const { outbox, onFlushed, onKept } = options
    const resolve: CourierOptions['resolve'] = (draft, call) => this.#resolve(draft, call)
    const remembered: CourierOptions['remembered'] = (draft) => this.#remembered(draft)
    this.#courier = new Courier({
      transport,
      keeper,
      outbox,
      random,
      resolve,
      remembered,
      onFlushed,
      onKept,
    })
    const call: Call = (entry, input, callOptions) =>
      this.call(entry, input, callOptions).catch((error: unknown) => this.#forgetUnknown(entry.id, error))
    const peers = () => this.directory
    this.messages = new Messages(call, {
      draft: (draft, callOptions) => this.#sendDraft(draft, callOptions),
      agentId: (to, callOptions) => peers().agentId(to, callOptions),
    })
    this.conversations = new Conversations(call, peers)
    this.peers = new Peers(call)
    this.inbox = new Inbox(call)
    this.sessions = new Sessions(call, keeper)
    this.bootstrap = new BootstrapReader(call)
    this.acknowledgements = new Acknowledgements(call, (ids) => this.#acknowledged.add(ids))
    this.recipientKeys = new RecipientKeys(call)
    this.guides = new Guides(call)
    this.tasks = new Tasks(call, {
      work: (handler, workOptions) => this.#work(handler, workOptions),
      wait: (id, waitOptions) => this.#waitForTask(id, waitOptions),
      peerId: (to, callOptions) => peers().peerId(to, callOptions),
      sessionId: () => keeper.sessionId,
    })
    this.transfers = new Transfers(call, {
      home: async (id) =>
        (await import('./transfers/wire/package-endpoint.ts')).packageEndpoint(address, authority, id),
      address: (to, callOptions) => this.directory.address(to, callOptions),
      recipientKey: (conversationId, callOptions) =>
        this.recipientKeys.ofConversation(conversationId, callOptions),
      capabilities: async (callOptions) => (await this.bootstrap.get(callOptions)).capabilities,
      newKey: () => freshKey(random),
      clock,
      nodeClock: async () => {
        const { clock_offset_ms: offsetMs } = await keeper.stored()
        return () => new Date(clock().getTime() + offsetMs)
      },
    })
    this.#listening = {
      inbox: this.inbox,
      bootstrap: this.bootstrap,
      streaming: new Streaming(transport, keeper),
      transports: options.transports,
      policy: async () => (await keeper.stored()).policy,
      isAcknowledged: (id) => this.#acknowledged.has(id),
      clock,
      monotonicMs: options.monotonicMs ?? (() => performance.now()),
      random,
      sleep: options.sleep,
    }
    // Looking up is no mutation that anybody must not lose.
    const direct: Call = async (entry, input, callOptions) =>
      (await this.#courier.direct(entry, input, callOptions)) as never
    this.#direct = new Tasks(direct)
    const monotonicMs = this.#listening.monotonicMs
    const now = () => this.now()
    this.#watch = new Watch({ inbox: this.inbox, closing: this.#closing.signal, monotonicMs, now })
    const { agentId } = identity
    const { messages: own, conversations, acknowledgements } = this
    const hold = options.holdAnswer
    const asking = { agentId, messages: own, conversations, acknowledgements, hold, now }
    this.#questioning = { ...asking, watch: this.#watch }
    const lookUps = { peers: new Peers(direct), conversations: new Conversations(direct) }
    const known = options.directory ?? memoryDirectory()
    this.directory = new Directory({ store: known, agentId: identity.agentId, clock, ...lookUps })
  }

  /**
   * Any endpoint of the agent's API.
   *
   * @throws BridgeError when the service refuses; LocalError when no answer of it came.
   */
  async call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    return (await this.#courier.call(entry, input, options)) as ResponseOf<E>
  }

  /**
   * Messages as they come, until the signal is aborted. Reading never acknowledges: `message.acknowledge()` does.
   *
   * Over a socket, an event stream or long-polls, whichever gets through; the node may go away and come back. A message
   * that is not acknowledged comes again after a minute, with a higher `delivery.attempt`; the same attempt never comes
   * twice. Who takes the first messages and goes asks for `transports: ['long-poll']`: what a stream had already pushed
   * would wait for that minute.
   *
   * @throws LocalError `aborted` when the signal is, or the Bridge is closed; what ends it for good: a revoked credential, a
   *   fenced or closed session, a disabled agent, an archived project.
   */
  async *listen(options: ListenOptions = {}): AsyncGenerator<ReceivedMessage, void, undefined> {
    for await (const page of this.pages(options)) {
      for (const message of page.messages) {
        // Acknowledged along with one before it.
        if (this.#acknowledged.has(message.id)) continue
        yield { ...message, acknowledge: () => this.acknowledgements.create([message.id], options) }
      }
    }
  }

  /** {@link listen} by pages, an empty one for every twenty seconds without news. */
  async *pages(options: ListenOptions = {}): AsyncGenerator<ReceivedPage, void, undefined> {
    const { signal: closing } = this.#closing
    const signal = options.signal === undefined ? closing : AbortSignal.any([closing, options.signal])
    for await (const page of new Listener(this.#listening, { ...options, signal }).pages()) {
      const messages = [...this.#watch.withoutResults(page.messages)]
      if (messages.length > 0 || page.messages.length === 0) yield { ...page, messages }
    }
  }

  /**
   * Ask a peer (by name or id) or `owner`, and wait for the answer: the first message of the other side that
   * replies to this question, which `bridge.messages.reply` and `bridge reply` send.
   *
   * Acknowledges the answer and no other message. {@link listen} still gets all other mail. Any number of
   * questions, and a listener, may run at the same time. The wait outlasts a restart of the node. A sealed
   * answer stays sealed: `openSealedText` opens it.
   *
   * @throws {@link NoAnswer} (LocalError `no_answer`) at the timeout, with the id for {@link answerTo}
   * @throws LocalError `aborted`, `peer_unknown`
   * @throws BridgeError as `messages.send`, and `not_found` if the pair is disabled during the wait. A fenced
   *   session, a revoked credential and an archived project end the wait with their code. Contract §13.
   */
  ask(peer: string, question: string | Question, options: AskOptions = {}): Promise<Message> {
    return ask(this.#questioning, peer, question, options)
  }

  /**
   * Wait for the answer to a question that was sent before, given as its id or its message. It resumes the
   * wait of {@link ask} after a timeout or a crash, and finds an answer that is stored already, acknowledged
   * or not.
   *
   * @throws as {@link ask}, LocalError `not_asked` for a message of another sender, BridgeError `not_found`
   */
  answerTo(question: string | Message, options: AnswerOptions = {}): Promise<Message> {
    return answerTo(this.#questioning, question, options)
  }

  /**
   * Say when this agent comes back, when it does not listen: every so many seconds, or after its current work step.
   * It belongs to the session; while the agent listens, that is what others see.
   */
  schedule(schedule: ContactSchedule, options: CallOptions = {}): Promise<ConnectionModeSet> {
    return this.call(connectionMode.report, { body: schedule }, options)
  }

  /** The node's time, as far as its difference to this machine's clock is known: what ages of messages are told by. */
  async now(): Promise<Date> {
    const { clock_offset_ms: offsetMs } = await this.#keeper.stored()
    return new Date(this.#clock().getTime() + offsetMs)
  }

  /** Send what the outbox kept: what is due, or exactly these entries whatever their age. */
  flush(ids?: readonly string[], options: CallOptions = {}): AsyncGenerator<Flushed, void, undefined> {
    return this.#courier.flush(ids, options)
  }

  /** End listening, and the connections of the default `fetch`. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pool?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  [inspect.custom](): string {
    return `Bridge { ${inspect(this.identity)} }`
  }

  async #work(handler: TaskHandler, options: WorkOptions): Promise<Worked> {
    const { Worker } = await import('./work/worker.ts')
    const { sleep = sleepFor, monotonicMs } = this.#listening
    const signal =
      options.signal === undefined
        ? this.#closing.signal
        : AbortSignal.any([this.#closing.signal, options.signal])
    const acknowledge = (task: Task) => this.#acknowledgeTask(task.id)
    const parts = {
      tasks: this.tasks,
      direct: this.#direct,
      acknowledge,
      monotonicMs,
      random: this.#random,
      sleep,
    }
    return new Worker(parts, handler, { ...options, signal }).run()
  }

  #waitForTask(id: string, options: TaskWaitOptions): Promise<EndedTask> {
    const acknowledge = (taskId: string, signal: AbortSignal | undefined) =>
      this.#acknowledgeTask(taskId, { signal })
    const get = (taskId: string, call: CallOptions) => this.tasks.get(taskId, call)
    return waitForTask({ watch: this.#watch, get, acknowledge }, id, options)
  }

  /** What the inbox holds of a task lies behind the task's own id. */
  async #acknowledgeTask(taskId: string, options: CallOptions = {}): Promise<void> {
    const ids: string[] = []
    for await (const { id, task_id } of this.inbox.all({ ...options, after: taskId }))
      if (task_id === taskId) ids.push(id)
    if (ids.length > 0) await this.acknowledgements.create(ids, options)
  }

  #sendDraft(draft: MessageDraft, options: KeyedOptions): Promise<MessageSent> {
    const sent = this.#courier.sendDraft(draft, options) as Promise<MessageSent>
    return sent.catch((error: unknown) => this.#forgetUnknown(messages.send.id, error))
  }

  /** A name that was remembered for a recipient may be out of date. */
  async #forgetUnknown(endpoint: string, error: unknown): Promise<never> {
    const isUnknown = error instanceof BridgeError && error.code === 'not_found'
    if (isUnknown && namesPeers.has(endpoint)) await this.directory.forget()
    throw error
  }

  async #remembered({ to, ...message }: MessageDraft): Promise<CallInput<typeof messages.send> | undefined> {
    const address = to === undefined ? undefined : await this.directory.known(to)
    return address && { body: { ...address, ...message } }
  }

  /** Who a draft goes to, as the service wants it. */
  async #resolve(draft: MessageDraft, options: CallOptions): Promise<CallInput<typeof messages.send>> {
    const { to, ...message } = draft
    if (to !== undefined) return { body: { ...(await this.directory.address(to, options)), ...message } }
    const original = await this.messages.get(draft.in_reply_to ?? '', options)
    return { body: { ...replyAddress(original, this.identity.agentId), ...message } }
  }
}

/** Endpoints whose recipient may be given by name. */
const namesPeers: ReadonlySet<string> = new Set([
  messages.send.id,
  conversations.open.id,
  tasks.create.id,
  transfers.create.id,
])

const sleepFor = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  await timer(ms, undefined, signal === undefined ? {} : { signal })
}

/** A version 4 UUID from 16 random bytes. */
export function uuidFrom(random: (bytes: number) => Buffer): string {
  const bytes = random(16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
