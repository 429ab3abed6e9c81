/**
 * Bridge: the client of one agent identity at one node. It creates its parts, connects them, and holds the
 * resources.
 *
 * - Every request is signed. Every mutation carries an Idempotency-Key that is generated before the first
 *   attempt.
 * - If there is no session, a call starts one. A revoked credential and a fenced session are thrown to the
 *   caller; a Bridge never enrols an agent or replaces a fenced session.
 * - Inspecting a Bridge shows its identity, but no secret.
 *
 * Contract §13. See `Owner` for an owner's session.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as timer } from 'node:timers/promises'
import { inspect } from 'node:util'
import { AgentCalls, type Flushed } from './agent/agent-calls.ts'
import { connectionOf } from './agent/connection.ts'
import { Directory, memoryDirectory } from './agent/directory.ts'
import { Drafts } from './agent/drafts.ts'
import type { Identity } from './agent/identity.ts'
import { NodeClock } from './agent/node-clock.ts'
import { memorySessions } from './agent/session.ts'
import { uuidFrom } from './agent/uuid.ts'
import type { BridgeOptions } from './bridge-options.ts'
import type { Message } from './contract/agent/messages.ts'
import type { EndpointSpec, ResponseOf } from './contract/endpoint.ts'
import { type ConnectionModeSet, type ContactSchedule, connectionMode } from './contract/presence.ts'
import { Listener, type Listening } from './delivery/listener.ts'
import type { ListenOptions, ReceivedMessage, ReceivedPage } from './delivery/received.ts'
import { AcknowledgedIds } from './delivery/seen-offers.ts'
import { Streaming } from './delivery/signed-stream.ts'
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
import { Transfers } from './resources/transfers.ts'
import { type Pool, pooledFetch } from './transport/fetch.ts'
import type { CallInput, CallOptions, KeyedOptions } from './transport/http.ts'
import { defaultClient } from './version.ts'
import {
  type AnswerOptions,
  type AskOptions,
  answerTo,
  ask,
  type Question,
  type Questioning,
} from './waiting/questions.ts'
import { TaskMessages } from './waiting/task-messages.ts'
import { Watch } from './waiting/watch.ts'
import { Tasks } from './work/tasks.ts'

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
  /** Look-up of agents and conversations by name, with a cache. */
  readonly directory: Directory
  readonly #pool: Pool | undefined
  readonly #calls: AgentCalls
  readonly #nodeClock: NodeClock
  readonly #listening: Listening
  readonly #watch: Watch
  readonly #questioning: Questioning
  readonly #acknowledged = new AcknowledgedIds()
  readonly #closing = new AbortController()

  /** @throws LocalError `invalid_url`, `insecure_url` */
  constructor(options: BridgeOptions) {
    const { identity, clock = () => new Date(), random = randomBytes, client = defaultClient } = options
    const { monotonicMs = () => performance.now() } = options
    const { agentId } = identity
    const pool = pooledFetch(options.ca)
    this.identity = identity
    this.#pool = options.fetch === undefined ? pool : undefined

    // Requests
    const { address, authority, keeper, transport, direct } = connectionOf({
      ...options,
      sessions: options.sessions ?? memorySessions(uuidFrom(random)),
      client,
      fetch: options.fetch ?? pool.fetch,
      clock,
      random,
    })
    const directCall: Call = (entry, input, callOptions) => direct.call(entry, input, callOptions)
    const directory = new Directory({
      store: options.directory ?? memoryDirectory(),
      agentId,
      clock,
      peers: new Peers(directCall),
      conversations: new Conversations(directCall),
    })
    const drafts = new Drafts(agentId, directory, direct)
    const { outbox, onFlushed, onKept } = options
    const calls = new AgentCalls({ direct, drafts, directory, outbox, random, onFlushed, onKept })
    const call: Call = (entry, input, callOptions) => calls.call(entry, input, callOptions)
    const nodeClock = new NodeClock(keeper, clock)
    this.directory = directory
    this.#calls = calls
    this.#nodeClock = nodeClock

    // Resources
    this.messages = new Messages(calls, directory)
    this.conversations = new Conversations(call, directory)
    this.peers = new Peers(call)
    this.inbox = new Inbox(call)
    this.sessions = new Sessions(call, keeper)
    this.bootstrap = new BootstrapReader(call)
    this.acknowledgements = new Acknowledgements(call, this.#acknowledged)
    this.recipientKeys = new RecipientKeys(call)
    this.guides = new Guides(call)
    const { inbox, bootstrap, acknowledgements, conversations, messages, recipientKeys } = this
    const closing = this.#closing.signal
    const watch = new Watch({ inbox, closing, monotonicMs, nodeClock })
    this.tasks = new Tasks(call, {
      directory,
      keeper,
      watch,
      messages: new TaskMessages(inbox, acknowledgements),
      direct: new Tasks(directCall),
      closing,
      monotonicMs,
      random,
      sleep: options.sleep ?? sleepFor,
    })
    const wasAnswered = () => transport.wasAnswered
    const parts = {
      directory,
      recipientKeys,
      bootstrap,
      address,
      authority,
      clock,
      nodeClock,
      wasAnswered,
      random,
    }
    this.transfers = new Transfers(call, parts)

    // Listening and waiting
    const again = new Acknowledgements(directCall, this.#acknowledged)
    // If it fails, the node offers the messages again later, and the listener comes back here. A session that
    // was closed on purpose is not started for it.
    const acknowledgeAgain = (ids: readonly string[]) => {
      if (keeper.sessionId === undefined) return
      void again.create(ids, { signal: closing, attempts: 1 }).catch(() => {})
    }
    this.#listening = {
      inbox,
      bootstrap,
      streaming: new Streaming(transport, keeper),
      transports: options.transports,
      keeper,
      acknowledged: this.#acknowledged,
      acknowledgeAgain,
      clock,
      monotonicMs,
      random,
      sleep: options.sleep,
    }
    this.#watch = watch
    const hold = options.holdAnswer
    this.#questioning = { agentId, messages, conversations, acknowledgements, watch, nodeClock, hold }
  }

  /**
   * Calls any endpoint of the agent's API.
   *
   * @throws BridgeError if the node refuses; LocalError if no answer of the node arrived.
   */
  call<const E extends EndpointSpec>(
    entry: E,
    input: CallInput<E>,
    options: KeyedOptions = {},
  ): Promise<ResponseOf<E>> {
    return this.#calls.call(entry, input, options)
  }

  /**
   * Yields messages as they arrive, until the signal is aborted. Reading never acknowledges;
   * `message.acknowledge()` does.
   *
   * It uses a socket, an event stream or long-polls, whichever works, and reconnects after outages. If a
   * message is not acknowledged, it is offered again after 60 seconds with a higher `delivery.attempt`. The
   * same attempt is never yielded twice. To take only the first messages, pass the transports
   * `['long-poll']`. Messages that a stream has already pushed would be offered again only after those 60
   * seconds.
   *
   * @throws LocalError `aborted` if the signal is aborted or the Bridge is closed; BridgeError for a revoked
   * credential, a fenced or closed session, a disabled agent, an archived project.
   */
  async *listen(options: ListenOptions = {}): AsyncGenerator<ReceivedMessage, void, undefined> {
    for await (const page of this.pages(options)) {
      for (const message of page.messages) {
        // The caller has already acknowledged it together with an earlier one.
        if (this.#acknowledged.has(message.id)) continue
        yield { ...message, acknowledge: () => this.acknowledgements.create([message.id], options) }
      }
    }
  }

  /** Like {@link listen}, but yields pages, and an empty page after every 20 seconds without messages. */
  async *pages(options: ListenOptions = {}): AsyncGenerator<ReceivedPage, void, undefined> {
    const { signal: closing } = this.#closing
    const signal = options.signal === undefined ? closing : AbortSignal.any([closing, options.signal])
    for await (const page of new Listener(this.#listening, { ...options, signal }).pages()) {
      const messages = [...this.#watch.withoutResults(page.messages)]
      if (messages.length > 0 || page.messages.length === 0) yield { ...page, messages }
    }
  }

  /**
   * Asks a peer (by name or id) or `owner`, and waits for the answer: the first message of the other side
   * that replies to this question, which `bridge.messages.reply` and `bridge reply` send.
   *
   * Acknowledges the answer and no other message. {@link listen} still gets all other mail. Any number of
   * questions, and a listener, may run at the same time. The wait outlasts a restart of the node. A sealed
   * answer stays sealed: `openSealedText` opens it.
   *
   * @throws {@link NoAnswer} (LocalError `no_answer`) at the timeout, with the id for {@link answerTo}
   * @throws LocalError `aborted`, `peer_unknown`
   * @throws BridgeError as `messages.send`, and `not_found` if the pair is disabled during the wait. A fenced
   * session, a revoked credential and an archived project end the wait with their code. Contract §13.
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
   * Announces when this agent polls next if it does not listen: at a fixed interval, or after its current
   * work step. The announcement belongs to the session. While the agent listens, others see that instead.
   */
  schedule(schedule: ContactSchedule, options: CallOptions = {}): Promise<ConnectionModeSet> {
    return this.call(connectionMode.report, { body: schedule }, options)
  }

  /**
   * Returns the node's time: this machine's clock plus the last known offset. Compute ages of messages with
   * it.
   */
  now(): Promise<Date> {
    return this.#nodeClock.now()
  }

  /** Sends the outbox entries that are due, or exactly the given entries of any age. */
  flush(ids?: readonly string[], options: CallOptions = {}): AsyncGenerator<Flushed, void, undefined> {
    return this.#calls.flush(ids, options)
  }

  /** Ends listening and all waits, and closes the connections of the default `fetch`. */
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
}

const sleepFor = async (ms: number, signal: AbortSignal | undefined): Promise<void> => {
  await timer(ms, undefined, signal === undefined ? {} : { signal })
}
